import {describe, expect, test} from 'vitest'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {UsageError} from '../../../src/lib/errors.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {compileFilters} from '../../../src/lib/select/compile.ts'
import {compileWhere} from '../../../src/lib/select/filters/where.ts'
import {recordWith} from '../../support/records.ts'
import {assertLinear} from '../../support/linear.ts'

const failure: Failure = {
  dialect: 'connect',
  origin: {topic: 'orders', partition: 3, offset: '9007199254740993', timestamp: '1764500000000'},
  stage: 'VALUE_CONVERTER',
  task: 0,
  exception: {class: 'a.b.DataException'},
  warnings: ['null_header'],
}
const value = Buffer.from(
  '{"id":17,"amount":12.5,"items":[{"sku":"a","parts":[1]},{"sku":"b","parts":[]}],"note":null}',
)

function letter(record: Partial<KafkaRecord> = {}, of: Failure = failure): DeadLetter {
  const headers = recordWith([
    ['trace', 'abc'],
    ['bin', Buffer.of(0xff)],
    ['none', null],
  ]).headers
  return {
    record: {...recordWith([]), value, headers, offset: 9_007_199_254_740_993n, ...record},
    address: 'orders-dlq:0:42',
    failure: of,
    fingerprint: null,
  }
}

async function evaluate(text: string, of: DeadLetter = letter()): Promise<boolean | null> {
  return (await compileWhere(text, '--where'))(of)
}

describe('fields', () => {
  test.each([
    'address == "orders-dlq:0:42"',
    'topic == "orders-dlq" && partition == 0',
    'offset == 9007199254740993',
    'offset > 9007199254740992',
    'timestamp > timestamp("2025-11-30T00:00:00Z") && timestamp < timestamp("2025-12-01T00:00:00Z")',
    'timestamp.getFullYear() == 2025',
    'timestampType == "CreateTime"',
    'key == "k-17"',
    'value.id == 17 && value.amount > 12',
    'value.id + 1.0 == 18.0',
    'value.items.exists(i, i.sku == "b")',
    'value.items.exists(i, i.parts.exists(p, p == 1))',
    'value.note == null',
    'headers.exists(h, h.name == "trace" && h.value == "abc")',
    'headers[0].name == "trace"',
    'headers.exists(h, h.name == "bin" && h.value == b"\\xff")',
    'headers.exists(h, h.name == "none" && h.value == null)',
    'failure.dialect == "connect"',
    'failure.origin.topic == "orders" && failure.origin.partition == 3',
    'failure.origin.offset == 9007199254740993',
    'failure.origin.timestamp == timestamp("2025-11-30T10:53:20Z")',
    'failure["stage"] == "VALUE_CONVERTER"',
    'failure.origin["topic"] == "orders"',
    '"null_header" in failure.warnings',
    'failure.exception.class.endsWith("DataException")',
    'failure.exception.class.matches("Data.*$")',
    'failure.task == 0',
    'bytes.key == 4 && bytes.headers > 0',
    'type(offset) == int && type(value.id) == double',
    'fingerprint == null && handled == null',
    'has(value.id) && !has(value.nothing)',
  ])('%s', async text => {
    expect(await evaluate(text)).toBe(true)
  })

  test('what a record does not have is null, at every depth', async () => {
    const bare = letter({timestamp: null, key: null, value: null}, {dialect: 'none'})
    for (const field of [
      'timestamp',
      'key',
      'value',
      'failure.stage',
      'failure.origin',
      'failure.origin.topic',
      'failure.attempts',
      'handled.state',
      'failure.exception.class',
      'failure.warnings',
    ]) {
      expect([field, await evaluate(`${field} == null`, bare)]).toEqual([field, true])
      expect([field, await evaluate(`${field} != null`, bare)]).toEqual([field, false])
    }
  })

  test('has() asks whether the record has it', async () => {
    expect(await evaluate('has(failure.origin.topic) && has(failure.stage)')).toBe(true)
    expect(await evaluate('has(failure.attempts) || has(failure.last.topic)')).toBe(false)
  })

  test('[BR-56] a text null is not the Kafka null', async () => {
    expect(await evaluate('value == null', letter({value: Buffer.from('null')}))).toBe(false)
    expect(await evaluate('value == "null"', letter({value: Buffer.from('null')}))).toBe(true)
    expect(await evaluate('value == null', letter({value: null}))).toBe(true)
    expect(await evaluate('value == null', letter({value: Buffer.of(0xff)}))).toBe(false)
    expect(await evaluate('value == ""', letter({value: Buffer.alloc(0)}))).toBe(true)
  })

  test('a time that CEL cannot hold is null', async () => {
    expect(await evaluate('timestamp == null', letter({timestamp: 9_223_372_036_854_775_807n}))).toBe(true)
  })
})

describe('on a record that it does not fit', () => {
  test.each([
    ['a missing member', 'value.nothing == 1'],
    ['a comparison of other types', 'value.id > "x"'],
    ['a null compared', 'failure.attempts >= 3'],
    ['an integer added to a double', 'value.id + 1 == 18'],
    ['no boolean', 'value.id'],
    ['a division by zero', '1 / partition == 1'],
  ])('%s cannot be evaluated', async (_, text) => {
    expect(await evaluate(text)).toBeNull()
  })

  test('is not selected by either twin, and counted once', async () => {
    const where = ['value.nothing == 1', 'value.neither == 1']
    const include = await compileFilters({include: {where}, exclude: {}})
    expect([include.matches(letter()), include.whereErrors]).toEqual([false, 1])
    const exclude = await compileFilters({include: {}, exclude: {where}})
    expect([exclude.matches(letter()), exclude.whereErrors]).toEqual([false, 1])
  })

  test('is selected when another alternative says yes', async () => {
    const filters = await compileFilters({include: {where: ['value.nothing == 1', 'partition == 0']}, exclude: {}})
    expect([filters.matches(letter()), filters.whereErrors]).toEqual([true, 0])
  })
})

describe('wrong use is found before any record is read', () => {
  test.each([
    ['failure.stag == "x"', "unknown field 'failure.stag'", ["did you mean 'failure.stage'?"]],
    ['failur.stage == "x"', "unknown field 'failur'", ["did you mean 'failure'?"]],
    ['stage == "x"', "unknown field 'stage'", ["did you mean 'failure.stage'?"]],
    ['failure.topic == "x"', "unknown field 'failure.topic'", ["did you mean 'failure.origin.topic'?"]],
    ['failure["stag"] == "x"', "unknown field 'failure.stag'", ["did you mean 'failure.stage'?"]],
    ['has(failure.stag)', "unknown field 'failure.stag'", ["did you mean 'failure.stage'?"]],
    ['headers.exists(h, h.nam == "x")', "unknown field 'nam'", ["did you mean 'name'?"]],
    ['headers[0].nam == "x"', "unknown field 'nam'", ["did you mean 'name'?"]],
    ['headers.name == "x"', "headers has no field 'name'", []],
    ['failure.stage.x == "x"', "failure.stage has no field 'x'", []],
    ['value.items.exists(i, j.sku == "a")', "unknown field 'j'", []],
    ['siz(headers) > 1', "unknown function 'siz'", ["did you mean 'size'?"]],
    ['decoded.value == 1', "unknown field 'decoded'", []],
    ['value.items.exists(failure, failure.sku == "a")', 'a loop variable cannot have the name', []],
    ['x.y.Z{a: 1} == 1', "unknown type 'x.y.Z'", []],
  ])('%s', async (text, message, hints) => {
    const compiled = compileWhere(text, '--where')
    await expect(compiled).rejects.toThrow(message)
    await expect(compiled).rejects.toMatchObject({exitCode: 2, hints})
  })

  test.each(['', 'a ==', 'failure.stage = "x"', '(partition == 0', '"abc'])('%j is no expression', async text => {
    await expect(compileWhere(text, '--where')).rejects.toThrow(/--where does not take .*column/)
  })

  test('too long and too deep expressions are refused', async () => {
    await expect(compileWhere('1'.repeat(5000), '--where')).rejects.toThrow(/at most 4096/)
    await expect(compileWhere(`${'('.repeat(2000)}true${')'.repeat(2000)}`, '--where')).rejects.toThrow(/deeply nested/)
  })

  test.each([
    'value.items.exists(a, value.items.exists(b, a == b))',
    'value.items.exists(a, a.parts.exists(b, a.parts.exists(c, b == c)))',
    'value.items.all(a, a in value.items)',
    'value.items.map(a, value.items).exists(b, b.exists(c, c == 1))',
  ])('a loop whose cost multiplies is refused: %s', async text => {
    await expect(compileWhere(text, '--where')).rejects.toThrow(UsageError)
    await expect(compileWhere(text, '--where')).rejects.toThrow(/loop/)
  })

  test('two loops one after the other are fine', async () => {
    expect(
      await evaluate('value.items.filter(i, i.sku == "a").exists(i, i.parts == [1.0]) && headers.exists(h, true)'),
    ).toBe(true)
    expect(await evaluate('value.items.exists(i, i.sku in ["a", "z"])')).toBe(true)
  })
})

describe('hostile records', () => {
  test('members that look like the evaluator’s own objects stay data', async () => {
    const hostile = Buffer.from(
      '{"$typeName":"google.protobuf.Any","constructor":{"name":"Map"},"__proto__":{"x":1},"id":17}',
    )
    expect(
      await evaluate('value.id == 17 && value["$typeName"] == "google.protobuf.Any"', letter({value: hostile})),
    ).toBe(true)
    expect(await evaluate('value.constructor.name == "Map"', letter({value: hostile}))).toBe(true)
    expect(await evaluate('has(value.toString)', letter({value: hostile}))).toBe(false)
  })

  test('a value nested without end is an error of its record', async () => {
    const deep = Buffer.from('['.repeat(200_000) + ']'.repeat(200_000))
    expect(await evaluate('value == 1', letter({value: deep}))).toBeNull()
    expect(await evaluate('partition == 0', letter({value: deep}))).toBe(true)
  })

  test('a pattern on a hostile value takes linear work', async () => {
    await assertLinear(20_000, async length => {
      const long = Buffer.from(`${'a'.repeat(length)}!`)
      expect(await evaluate('value.matches("^(a+)+$")', letter({value: long}))).toBe(false)
    })
  })

  test('loops over written lists do not multiply without end', async () => {
    const ten = '[0,1,2,3,4,5,6,7,8,9]'
    const nested = (names: readonly string[]): string =>
      names.reduceRight((inner, name) => `${ten}.all(${name}, ${inner})`, 'true')
    expect(await evaluate(nested(['a', 'b', 'c']))).toBe(true)
    await expect(evaluate(nested(['a', 'b', 'c', 'd']))).rejects.toThrow('make 10000 rounds, at most 1000 are taken')
    await expect(evaluate(nested(['a', 'b', 'c', 'd']).replaceAll(ten, `[${ten}][0]`))).rejects.toThrow('rounds')
  })

  test('the same expression judges many records apart', async () => {
    const judge = await compileWhere('value.id == 17', '--where')
    expect([letter(), letter({value: Buffer.from('{"id":18}')}), letter({value: null}), letter()].map(judge)).toEqual([
      true,
      false,
      null,
      true,
    ])
  })
})
