import {expect, test} from 'vitest'
import {errorCode, errorName, isRetriableCode, protocolError} from '../../../../src/lib/kafka/protocol/errors.ts'
import {ERROR_TABLE} from '../../../../src/lib/kafka/protocol/generated/errors.ts'

// Codes, names and whether to retry as the Kafka protocol guide lists them.
test.each<[number, string, boolean]>([
  [-1, 'UNKNOWN_SERVER_ERROR', false],
  [1, 'OFFSET_OUT_OF_RANGE', false],
  [2, 'CORRUPT_MESSAGE', true],
  [3, 'UNKNOWN_TOPIC_OR_PARTITION', true],
  [6, 'NOT_LEADER_OR_FOLLOWER', true],
  [10, 'MESSAGE_TOO_LARGE', false],
  [15, 'COORDINATOR_NOT_AVAILABLE', true],
  [29, 'TOPIC_AUTHORIZATION_FAILED', false],
  [47, 'INVALID_PRODUCER_EPOCH', false],
  [51, 'CONCURRENT_TRANSACTIONS', true],
  [90, 'PRODUCER_FENCED', false],
  [100, 'UNKNOWN_TOPIC_ID', true],
  [120, 'TRANSACTION_ABORTABLE', false],
])('code %i is %s, retriable %s', (code, name, retriable) => {
  expect(errorName(code)).toBe(name)
  expect(isRetriableCode(code)).toBe(retriable)
  expect(errorCode(name)).toBe(code)
  expect(protocolError(code, 'Fetch').retriable).toBe(retriable)
})

test('every code of the table becomes an error of its own name, one line, with an exit code', () => {
  for (const [code, {name}] of ERROR_TABLE) {
    if (code === 0) continue
    const error = protocolError(code, 'Fetch', {topic: 'orders', message: 'two\nlines.'})
    expect(error).toMatchObject({
      code: `E_${name}`,
      context: {protocolError: name, protocolCode: code, api: 'Fetch', topic: 'orders'},
    })
    expect(error.message).toMatch(/^[^A-Z\n][^\n]*[^\n.]$/)
    expect([1, 4, 5]).toContain(error.exitCode)
  }
})

test('an unknown code is named by its number and never repeated', () => {
  const error = protocolError(4711, 'Fetch')
  expect(error).toMatchObject({name: 'KafkaError', exitCode: 1, retriable: false, code: 'E_UNKNOWN_PROTOCOL_ERROR'})
  expect(error.message).toBe('kafka answered UNKNOWN(4711) to Fetch')
  expect(() => errorCode('NO_SUCH_ERROR')).toThrow(RangeError)
})

test.each<[number, Parameters<typeof protocolError>[2], string, string, number]>([
  [29, {topic: 'orders'}, 'AuthError', 'not authorized: TOPIC_AUTHORIZATION_FAILED in Fetch for topic orders', 4],
  [
    30,
    {group: 'g', topic: 'orders'},
    'AuthError',
    'not authorized: GROUP_AUTHORIZATION_FAILED in Fetch for group g',
    4,
  ],
  [31, {topic: 'orders'}, 'AuthError', 'not authorized: CLUSTER_AUTHORIZATION_FAILED in Fetch for the cluster', 4],
  [
    53,
    {transactionalId: 'kdlq-r'},
    'AuthError',
    'not authorized: TRANSACTIONAL_ID_AUTHORIZATION_FAILED in Fetch for transactional id kdlq-r',
    4,
  ],
  [
    58,
    {message: 'no such user'},
    'AuthError',
    'not authenticated: SASL_AUTHENTICATION_FAILED in Fetch: no such user',
    4,
  ],
  [
    7,
    {topic: 'orders', partition: 0},
    'UnreachableError',
    'kafka answered REQUEST_TIMED_OUT to Fetch for topic orders, partition 0',
    5,
  ],
  [
    6,
    {topic: 'orders', partition: 3, broker: 1},
    'KafkaError',
    'kafka answered NOT_LEADER_OR_FOLLOWER to Fetch for topic orders, partition 3',
    1,
  ],
  [
    87,
    {topic: 'o', message: 'Bad  record.'},
    'KafkaError',
    'kafka answered INVALID_RECORD to Fetch for topic o: Bad record',
    1,
  ],
])('code %i about %o is a %s', (code, subject, name, message, exitCode) => {
  expect(protocolError(code, 'Fetch', subject)).toMatchObject({name, message, exitCode})
})
