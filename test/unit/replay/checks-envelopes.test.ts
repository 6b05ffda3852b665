import {expect, test} from 'vitest'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {parseCheckDecisions} from '../../../src/lib/replay/check-names.ts'
import {CHECKS} from '../../../src/lib/replay/checks.ts'
import type {CheckSubject} from '../../../src/lib/replay/checks.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import {OutgoingFactory} from '../../../src/lib/replay/outgoing.ts'
import {recordWith} from '../../support/records.ts'
import {checkSubject} from './support.ts'

const report = (records: readonly object[]): KafkaRecord => {
  const payload = {records: {'orders-1': records}}
  const value = JSON.stringify({requestContext: {}, KafkaBatchInfo: {}, payload})
  return recordWith([['of-the-report', '1']], {key: Buffer.from('report'), value: Buffer.from(value)})
}
const inside = {topic: 'orders', partition: 1, offset: 7, timestamp: 1_700_000_000_000, key: 'azE=', value: 'e30='}

const found = (record: KafkaRecord, over: Partial<CheckSubject> = {}): Record<string, string> => {
  const failure = decodeFailure(record)
  const subject = checkSubject(failure, {record, ...over})
  return Object.fromEntries(
    CHECKS.flatMap(({id, find}) => (find?.(subject) == null ? [] : [[id, find(subject) ?? '']])),
  )
}

test('a report of several records is never sent, also not to a topic that is named', () => {
  expect(found(report([inside, {...inside, offset: 8}]))).toHaveProperty('multi-record')
  expect(() => parseCheckDecisions(['multi-record'], [])).toThrow('check multi-record cannot be allowed')
})

test('a report with a part that cannot be read counts as a lost value', () => {
  expect(found(report([{...inside, key: '%'}]))).toHaveProperty('value-lost')
  expect(found(report([{...inside, headers: [{h: ['x']}]}]))).toHaveProperty('value-lost')
  expect(found(report([inside]))).toEqual({})
})

test('out of a report goes the record inside: its key, value, headers and time, nothing of the report', () => {
  const record = report([{...inside, headers: [{b: [1]}, {a: [-1]}, {b: [2]}, {'kdlq.replay': [3]}]}])
  const factory = new OutgoingFactory({headers: DEFAULT_HEADER_POLICY, timestamp: 'original', run: 'r-1'})
  const outgoing = factory.prepare(record, decodeFailure(record))
  const {key, value, timestamp, spliceable} = outgoing
  expect([key?.toString(), value?.toString(), timestamp, spliceable]).toEqual(['k1', '{}', 1_700_000_000_000n, false])
  expect(
    outgoing
      .headers()
      .slice(0, -1)
      .map(({name, value: bytes}) => [name.toString(), bytes?.toString('hex')]),
  ).toEqual([
    ['b', '01'],
    ['a', 'ff'],
    ['b', '02'],
  ])
  expect(outgoing.headers().at(-1)?.name.toString()).toBe('kdlq.replay')
})

test('without an origin, the name of the topic may tell one: a hint, not a target', () => {
  const bare = recordWith([], {topic: 'orders-dlq'})
  expect(found(bare, {destination: {kind: 'no-origin'}})).toEqual({
    'no-origin': 'headers name no origin topic; by the name of orders-dlq it may be orders',
  })
  expect(found(recordWith([], {topic: 'dead'}), {destination: {kind: 'no-origin'}})).toEqual({
    'no-origin': 'headers name no origin topic',
  })
})
