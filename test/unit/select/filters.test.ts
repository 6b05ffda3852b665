import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {UsageError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {compileFilters} from '../../../src/lib/select/compile.ts'
import {NO_FILTERS, parseFilterSpec, toFilterSpec, type FilterValues} from '../../../src/lib/select/filter-spec.ts'
import {FILTER_NAMES, type FilterName} from '../../../src/lib/select/filters/index.ts'
import {recordWith} from '../../support/records.ts'
import {batchOf} from '../dead-letter/scan-cluster.ts'
import {assertLinear} from '../../support/linear.ts'

function deadLetter(failure: Partial<Failure>, record: Partial<KafkaRecord> = {}): DeadLetter {
  const whole = {...recordWith([]), ...record}
  return {
    record: whole,
    address: 'orders-dlq:0:42',
    failure: {dialect: 'connect', ...failure},
    fingerprint: 'f-3c9a1b2d',
  }
}

async function selects(include: FilterValues, letter: DeadLetter, exclude: FilterValues = {}): Promise<boolean> {
  return (await compileFilters({include, exclude})).matches(letter)
}

const dataException = 'org.apache.kafka.connect.errors.DataException'

describe('how values combine', () => {
  const letter = deadLetter({stage: 'VALUE_CONVERTER', connector: 'orders-es'})

  test('no filter selects everything', async () => {
    const filters = await compileFilters(NO_FILTERS)
    expect(filters.isEmpty).toBe(true)
    expect(filters.matches(letter)).toBe(true)
  })

  test('the same flag twice means or', async () => {
    expect(await selects({stage: ['KEY_CONVERTER', 'VALUE_CONVERTER']}, letter)).toBe(true)
    expect(await selects({stage: ['KEY_CONVERTER', 'TASK_PUT']}, letter)).toBe(false)
  })

  test('different flags mean and', async () => {
    expect(await selects({stage: ['VALUE_CONVERTER'], connector: ['orders-es']}, letter)).toBe(true)
    expect(await selects({stage: ['VALUE_CONVERTER'], connector: ['other']}, letter)).toBe(false)
  })

  test('a twin drops what matches one of its values', async () => {
    expect(await selects({}, letter, {stage: ['TASK_PUT', 'VALUE_CONVERTER']})).toBe(false)
    expect(await selects({}, letter, {stage: ['TASK_PUT']})).toBe(true)
    expect(await selects({stage: ['VALUE_CONVERTER']}, letter, {connector: ['orders-*']})).toBe(false)
  })

  test('a twin keeps what does not have the field', async () => {
    expect(await selects({}, deadLetter({}), {stage: ['TASK_PUT']})).toBe(true)
  })
})

describe('each filter', () => {
  const failure: Partial<Failure> = {
    dialect: 'connect',
    stage: 'VALUE_CONVERTER',
    connector: 'orders-es',
    task: 0,
    group: 'connect-orders-es',
    app: 'billing',
    attempts: 3,
    origin: {topic: 'orders', partition: 3, offset: '1007'},
    exception: {
      class: dataException,
      message: 'Converting byte[] to Kafka Connect data failed due to serialization error: ',
      cause: 'com.fasterxml.jackson.core.JsonParseException',
      causeMessage: "Unrecognized token 'x'",
    },
  }
  const letter = deadLetter(
    failure,
    recordWith([
      ['trace', 'abc'],
      ['trace', null],
      ['n', Buffer.of(0, 0, 0, 3)],
      ['empty', ''],
    ]),
  )

  const cases: readonly (readonly [FilterName, string, boolean])[] = [
    ['stage', 'VALUE_CONVERTER', true],
    ['stage', 'KEY_CONVERTER', false],
    ['exception', dataException, true],
    ['exception', 'DataException', true],
    ['exception', 'dataexception', false],
    ['exception', 'Exception', false],
    ['exception', 'JsonParseException', true],
    ['exception', '*DataException', true],
    ['exception', 'org.apache.kafka.*', true],
    ['exception', 'Data*', true],
    ['exception', '*Timeout*', false],
    ['message', 'serialization error', true],
    ['message', '^serialization', false],
    ['message', '(?i)UNRECOGNIZED TOKEN', true],
    ['message', 'absent', false],
    ['connector', 'orders-es', true],
    ['connector', 'orders-*', true],
    ['connector', 'orders', false],
    ['task', '0', true],
    ['task', '1', false],
    ['task', '0_1', false],
    ['group', 'connect-orders-es', true],
    ['group', '*-es', true],
    ['app', 'billing', true],
    ['app', 'billin', false],
    ['dialect', 'connect', true],
    ['dialect', 'none', false],
    ['origin', 'orders', true],
    ['origin', 'ord*', true],
    ['origin', 'orders-dlq', false],
    ['origin', 'orders:3', true],
    ['origin', 'orders:4', false],
    ['origin', 'orders:3:1007', true],
    ['origin', 'orders:3:1000..1007', true],
    ['origin', 'orders:3:1007..2000', true],
    ['origin', 'orders:3:1008..2000', false],
    ['key', 'k-17', true],
    ['key', '0x6b2d3137', true],
    ['key', 'k-1', false],
    ['key', '', false],
    ['header', 'trace', true],
    ['header', 'trace=abc', true],
    ['header', 'trace=', false],
    ['header', 'empty=', true],
    ['header', 'n=0x00000003', true],
    ['header', 'Trace', false],
    ['header', 'other', false],
    ['fingerprint', 'f-3c9a1b2d', true],
    ['fingerprint', 'f-00000000', false],
    ['attempts', '>=3', true],
    ['attempts', '3', true],
    ['attempts', '=3', true],
    ['attempts', '>3', false],
    ['attempts', '<4', true],
    ['attempts', '<=2', false],
    ['attempts', '!=3', false],
    ['where', 'failure.stage == "VALUE_CONVERTER"', true],
    ['where', 'partition == 1', false],
  ]

  test.each(cases)('--%s %j is %s', async (name, text, expected) => {
    expect(await selects({[name]: [text]}, letter)).toBe(expected)
    expect(await selects({}, letter, {[name]: [text]})).toBe(!expected)
  })

  test('--message finds what the root cause says in the stack trace', async () => {
    const stack = 'a.B: outer\nCaused by: c.D: quantity -1 is negative\n'
    const caused = deadLetter(
      {...failure, exception: {class: 'a.B', message: 'outer', cause: 'c.D', stack}},
      recordWith([]),
    )
    expect(await selects({message: ['^quantity']}, caused)).toBe(true)
    expect(await selects({message: ['Caused by']}, caused)).toBe(false)
  })

  test('every filter is tried above', () => {
    expect([...new Set(cases.map(([name]) => name))].sort()).toEqual([...FILTER_NAMES].sort())
  })

  test.each([
    ['stage', 'VALUE_CONVERTR', /VALUE_CONVERTER/],
    ['stage', '', /known stages/],
    ['exception', '', /class name/],
    ['message', '(a', /regular expression/],
    ['message', '(?=a)', /regular expression/],
    ['message', 'a'.repeat(1001), /1000 characters/],
    ['connector', '', /name/],
    ['task', 'x', /task/],
    ['dialect', 'conect', /connect/],
    ['origin', 'orders:', /TOPIC/],
    ['origin', 'orders:3:9..1', /goes up/],
    ['origin', 'orders:99999999999', /too large/],
    ['origin', 'bad topic', /TOPIC/],
    ['header', '', /NAME/],
    ['header', '=x', /NAME/],
    ['fingerprint', '3c9a1b2d', /f-/],
    ['attempts', '~3', /comparison/],
    ['attempts', '3.5', /comparison/],
  ] as const)('--%s %j is wrong use', async (name, text, message) => {
    const include = compileFilters({include: {[name]: [text]}, exclude: {}})
    await expect(include).rejects.toThrow(UsageError)
    await expect(include).rejects.toThrow(message)
    await expect(include).rejects.toThrow(`--${name}`)
    await expect(compileFilters({include: {}, exclude: {[name]: [text]}})).rejects.toThrow(`--not-${name}`)
  })

  test('an unknown stage names the one that was meant', async () => {
    await expect(compileFilters({include: {stage: ['value_converter']}, exclude: {}})).rejects.toMatchObject({
      hints: ["did you mean 'VALUE_CONVERTER'?"],
    })
  })

  test('[BR-03] a class is found by its root cause, whatever wrapper it came in', async () => {
    const wrapped = deadLetter({
      exception: {
        class: 'org.springframework.kafka.listener.ListenerExecutionFailedException',
        cause: 'java.net.SocketTimeoutException',
      },
    })
    expect(await selects({exception: ['SocketTimeoutException']}, wrapped)).toBe(true)
    expect(await selects({exception: ['ListenerExecutionFailedException']}, wrapped)).toBe(true)
  })

  test('a nested class is found by what stands behind the dollar', async () => {
    const nested = deadLetter({exception: {class: 'com.acme.CustomerLookup$Value'}})
    expect(await selects({exception: ['Value']}, nested)).toBe(true)
    expect(await selects({exception: ['CustomerLookup$Value']}, nested)).toBe(true)
    expect(await selects({exception: ['CustomerLookup']}, nested)).toBe(false)
  })

  test('[CR-01] a record passes when one of its headers matches', async () => {
    const two = deadLetter(
      {},
      recordWith([
        ['a', '1'],
        ['b', '2'],
      ]),
    )
    expect(await selects({header: ['a=1']}, two)).toBe(true)
    expect(await selects({header: ['b=1']}, two)).toBe(false)
  })

  test('a null key is no text, and an empty one is', async () => {
    expect(await selects({key: ['']}, deadLetter({}, {key: null}))).toBe(false)
    expect(await selects({key: ['']}, deadLetter({}, {key: Buffer.alloc(0)}))).toBe(true)
    expect(await selects({key: ['null']}, deadLetter({}, {key: null}))).toBe(false)
  })

  test('a key that is text and begins with 0x is found as well as the bytes', async () => {
    expect(await selects({key: ['0xABCD']}, deadLetter({}, {key: Buffer.from('0xABCD')}))).toBe(true)
    expect(await selects({key: ['0xABCD']}, deadLetter({}, {key: Buffer.of(0xab, 0xcd)}))).toBe(true)
  })

  test('a hostile message does not make a pattern slow', async () => {
    await assertLinear(50_000, async length => {
      const slow = deadLetter({exception: {message: `${'a'.repeat(length)}!`}})
      expect(await selects({message: ['^(a+)+$']}, slow)).toBe(false)
    })
  })
})

describe('the first look at raw bytes', () => {
  const record = recordWith([
    ['trace', 'abc'],
    ['__connect.errors.topic', 'orders'],
    ['__connect.errors.stage', 'VALUE_CONVERTER'],
    ['__connect.errors.exception.class.name', dataException],
  ])

  async function peek(include: FilterValues, exclude: FilterValues = {}, of: KafkaRecord = record): Promise<string> {
    const cursor = batchOf({records: [of]}).cursor()
    cursor.next()
    return (await compileFilters({include, exclude})).peek(cursor)
  }

  test('refuses what can never match', async () => {
    expect(await peek({stage: ['TASK_PUT']})).toBe('no')
    expect(await peek({exception: ['SocketTimeoutException']})).toBe('no')
    expect(await peek({exception: ['*Timeout*']})).toBe('no')
    expect(await peek({connector: ['orders-es']})).toBe('no')
    expect(await peek({key: ['k-18']})).toBe('no')
    expect(await peek({header: ['trace=abd']})).toBe('no')
    expect(await peek({}, {header: ['trace']})).toBe('no')
  })

  test('knows for sure about keys and headers', async () => {
    expect(await peek({key: ['k-17'], header: ['trace=abc']})).toBe('yes')
    expect(await peek({}, {key: ['k-18']})).toBe('yes')
    expect(await peek({key: ['k-18', 'k-17']})).toBe('yes')
    expect(await peek({})).toBe('yes')
  })

  test('leaves everything else to the decoded record', async () => {
    expect(await peek({stage: ['VALUE_CONVERTER']})).toBe('maybe')
    expect(await peek({exception: ['DataException']})).toBe('maybe')
    expect(await peek({attempts: ['>=3'], key: ['k-17']})).toBe('maybe')
    expect(await peek({where: ['false']})).toBe('maybe')
    expect(await peek({}, {stage: ['VALUE_CONVERTER']})).toBe('maybe')
    expect(await peek({}, {stage: ['TASK_PUT']})).toBe('yes')
  })

  test('does not refuse what an envelope or a header-less record may hide', async () => {
    const exception = ['SocketTimeoutException']
    expect(await peek({exception}, {}, recordWith([]))).toBe('maybe')
    const value = (bytes: Buffer) => recordWith([['a', '1']], {value: bytes})
    expect(await peek({exception}, {}, value(Buffer.from('{"error":"java.net.SocketTimeoutException"}')))).toBe('maybe')
    expect(await peek({exception}, {}, value(Buffer.from('{"error":"java.net.Socket\\u0054imeoutException"}')))).toBe(
      'maybe',
    )
    expect(await peek({exception}, {}, value(Buffer.of(0xff, 1, 2)))).toBe('maybe')
    expect(await peek({exception}, {}, value(Buffer.from('{"id":17}')))).toBe('no')
  })

  test('agrees with the decoded record on real headers', async () => {
    const filters = await compileFilters({include: {stage: ['VALUE_CONVERTER']}, exclude: {}})
    expect(filters.matches(createDeadLetter(record))).toBe(true)
  })
})

describe('filters as data', () => {
  test('are taken from flags by their names', () => {
    const flags = {stage: ['TASK_PUT'], 'not-key': ['a', 'b'], message: [], output: 'json', exception: undefined}
    expect(toFilterSpec(flags)).toEqual({include: {stage: ['TASK_PUT']}, exclude: {key: ['a', 'b']}})
  })

  test('come back from JSON as they were', () => {
    const spec = {include: {stage: ['TASK_PUT'], where: ['partition == 0']}, exclude: {key: ['0x00']}}
    expect(parseFilterSpec(JSON.parse(JSON.stringify(spec)))).toEqual(spec)
    expect(parseFilterSpec({})).toEqual(NO_FILTERS)
  })

  test.each<unknown>([
    null,
    [],
    'x',
    {includes: {}},
    {include: []},
    {include: {stage: 'TASK_PUT'}},
    {include: {stage: [1]}},
    {include: {constructor: ['x']}},
    {include: {stages: ['x']}},
  ])('refuses %j', json => {
    expect(() => parseFilterSpec(json)).toThrow(UsageError)
  })
})
