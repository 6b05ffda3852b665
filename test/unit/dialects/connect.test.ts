import {readFileSync} from 'node:fs'
import {describe, expect, test} from 'vitest'
import {connect, CONNECT_STAGES, connectHeaders} from '../../../src/lib/dialects/connect.ts'
import type {ConnectContext} from '../../../src/lib/dialects/connect.ts'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import {knownStages} from '../../../src/lib/dialects/registry.ts'
import {parseVectors, runVector, vectorDifferences} from '../../support/dialect-vectors.ts'
import {header, recordWith} from '../../support/records.ts'

const vectors = parseVectors(readFileSync(new URL('../../fixtures/dialects/connect.jsonl', import.meta.url), 'utf8'))

const context: ConnectContext = {
  topic: 'orders',
  partition: 11,
  offset: 9007199254740993n,
  connector: 'orders-es',
  task: 2,
  stage: 'VALUE_CONVERTER',
  component: 'org.apache.kafka.connect.json.JsonConverter',
  error: {class: 'com.acme.Bad', message: 'no', stack: 'com.acme.Bad: no\nCaused by: com.acme.Worse\n'},
}

test.each(vectors.map(vector => [vector.id, vector.note, vector] as const))('decodes %s: %s', (_id, _note, vector) => {
  expect(vectorDifferences(vector, runVector(vector))).toEqual([])
})

test('reads back what it writes, beyond 2^53 too', () => {
  const record = {...recordWith([]), headers: connectHeaders(context)}
  expect(decodeFailure(record)).toEqual({
    dialect: 'connect',
    origin: {topic: 'orders', partition: 11, offset: '9007199254740993'},
    connector: 'orders-es',
    task: 2,
    stage: 'VALUE_CONVERTER',
    component: 'org.apache.kafka.connect.json.JsonConverter',
    exception: {
      class: 'com.acme.Bad',
      message: 'no',
      cause: 'com.acme.Worse',
      stack: 'com.acme.Bad: no\nCaused by: com.acme.Worse\n',
    },
  })
})

describe('writing', () => {
  test('gives the ten headers in the order of the reporter', () => {
    expect(connectHeaders(context).map(({name}) => name.toString())).toEqual([
      '__connect.errors.topic',
      '__connect.errors.partition',
      '__connect.errors.offset',
      '__connect.errors.connector.name',
      '__connect.errors.task.id',
      '__connect.errors.stage',
      '__connect.errors.class.name',
      '__connect.errors.exception.class.name',
      '__connect.errors.exception.message',
      '__connect.errors.exception.stacktrace',
    ])
  })

  test('writes a null message as a null value and an empty one as no bytes', () => {
    const message = (text: string | null): Buffer | null | undefined =>
      connectHeaders({...context, error: {class: 'a.B', message: text, stack: 'a.B'}})[8]?.value
    expect(message(null)).toBeNull()
    expect(message('')).toEqual(Buffer.alloc(0))
  })

  test('leaves the exception out when there is no error', () => {
    const {error: _error, ...withoutError} = context
    expect(connectHeaders(withoutError)).toHaveLength(7)
  })

  test('writes an unpaired surrogate as Java does', () => {
    const [topic] = connectHeaders({...context, topic: 'a\ud800b💥'})
    expect(topic?.value?.toString()).toBe('a?b💥')
  })
})

describe('several failures', () => {
  const second = connectHeaders({...context, topic: 'orders-again', partition: 0, offset: 5n, connector: 'replayer'})

  test('shows the newest failure, and the first origin', () => {
    const failure = decodeFailure({...recordWith([]), headers: [...connectHeaders(context), ...second]})
    expect(failure).toMatchObject({
      hops: 2,
      origin: {topic: 'orders', partition: 11, offset: '9007199254740993'},
      last: {topic: 'orders-again', partition: 0, offset: '5'},
      connector: 'replayer',
    })
    expect(failure.warnings).toBeUndefined()
  })

  test('does not explain a failure without an error by the exception of an older one', () => {
    const {error: _error, ...withoutError} = context
    const failure = decodeFailure({
      ...recordWith([]),
      headers: [...connectHeaders(context), ...connectHeaders(withoutError)],
    })
    expect(failure.hops).toBe(2)
    expect(failure.exception).toBeUndefined()
  })

  test('keeps the exception of the newest failure when only the older one had none', () => {
    const {error: _error, ...withoutError} = context
    const failure = decodeFailure({
      ...recordWith([]),
      headers: [...connectHeaders(withoutError), ...connectHeaders(context)],
    })
    expect(failure.exception?.class).toBe('com.acme.Bad')
  })

  test('says that hops are ragged when an application header took the name of one of ours', () => {
    const headers = [header('__connect.errors.topic', 'hands off'), ...connectHeaders(context)]
    expect(decodeFailure({...recordWith([]), headers})).toMatchObject({
      origin: {topic: 'hands off', partition: 11},
      last: {topic: 'orders', partition: 11, offset: '9007199254740993'},
      hops: 2,
      warnings: ['illegal_topic', 'ragged_hops'],
    })
  })

  test('warns when the first failure already was on a dead letter topic', () => {
    const headers = connectHeaders({...context, topic: 'orders-dlq'})
    expect(decodeFailure({...recordWith([]), headers}).warnings).toEqual(['origin_is_dlq'])
  })
})

test('[BR-09] reads the origin partition, whatever partition the dead letter is in', () => {
  const record = {...recordWith([], {partition: 0}), headers: connectHeaders(context)}
  expect(decodeFailure(record).origin?.partition).toBe(11)
})

test('[BR-15] shows an exception without a message as one, not as the text null', () => {
  const headers = connectHeaders({
    ...context,
    error: {class: 'java.lang.NullPointerException', message: null, stack: 'x'},
  })
  const {exception} = decodeFailure({...recordWith([]), headers})
  expect(exception).toEqual({class: 'java.lang.NullPointerException', stack: 'x'})
})

test('[BR-17] [BR-18] knows nothing about a record without error headers, and says so', () => {
  expect(decodeFailure(recordWith([['trace', 'abc']]))).toEqual({dialect: 'none'})
  expect(decodeFailure(recordWith([]))).toEqual({dialect: 'none'})
})

test('[BR-19] [BR-20] decodes a record with a null header of the application', () => {
  for (const name of ['x', 'foo']) {
    const record = {...recordWith([]), headers: [header(name, null), ...connectHeaders(context)]}
    expect(decodeFailure(record).stage).toBe('VALUE_CONVERTER')
  }
})

test('[CR-03] leaves a header alone that ends too early for an encoding it might have', () => {
  const record = {...recordWith([]), headers: [header('x', Buffer.from([0xa1])), header('y', Buffer.from([0x83]))]}
  expect(decodeFailure(record)).toEqual({dialect: 'none'})
})

test('its stages are the words that --stage accepts', () => {
  expect(knownStages([connect])).toEqual([...CONNECT_STAGES])
  expect(knownStages([connect, connect])).toHaveLength(8)
})
