import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {HeaderPreviews, previewHeaders} from '../../../src/lib/replay/header-preview.ts'
import type {HeaderPreview} from '../../../src/lib/replay/header-preview.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import type {HeaderPolicy} from '../../../src/lib/replay/header-policy.ts'
import {OutgoingFactory} from '../../../src/lib/replay/outgoing.ts'
import type {TimestampRule} from '../../../src/lib/replay/outgoing.ts'
import {CORPUS, corpusLetters} from '../../support/corpus.ts'
import {recordWith} from '../../support/records.ts'

const TARGET = {topic: 'orders', partition: 3}

function factory(policy: Partial<HeaderPolicy> = {}, timestamp: TimestampRule = 'default'): OutgoingFactory {
  return new OutgoingFactory({headers: {...DEFAULT_HEADER_POLICY, ...policy}, timestamp, run: 'r-1'})
}

function preview(record: ReturnType<typeof recordWith>, policy: Partial<HeaderPolicy> = {}): HeaderPreview {
  const letter = createDeadLetter(record)
  return previewHeaders(letter, TARGET, factory(policy).prepare(record, letter.failure))
}

test('shows one record of each kind that the real frameworks write', async () => {
  const previews = new HeaderPreviews()
  for (const name of CORPUS) {
    for (const {record} of await corpusLetters(name)) {
      const letter = createDeadLetter(record)
      previews.offer(letter, TARGET, factory().prepare(record, letter.failure))
    }
  }
  const list = previews.toList()
  expect(list.map(({kind}) => kind).sort()).toEqual([
    'generic',
    'none',
    'scst',
    'share-group',
    'smallrye',
    'smallrye-retry',
    'spring-dlt',
    'spring-retry',
    'spring-retry+spring-dlt',
    'streams',
  ])
  for (const {before, after, removed, added, harmful} of list) {
    expect(after).toHaveLength(before.length - removed.length + added.length)
    expect(added).toEqual(['kdlq.replay'])
    expect(harmful).toEqual([])
  }
})

test('the next record of a kind takes the place of one that stays behind', () => {
  const previews = new HeaderPreviews()
  const offer = (offset: bigint): void => {
    const record = {...recordWith([['kafka_dlt-original-topic', 'orders']]), offset}
    const letter = createDeadLetter(record)
    previews.offer(letter, TARGET, factory().prepare(record, letter.failure))
  }
  offer(1n)
  offer(2n)
  const [first] = previews.toList()
  previews.withdraw(first?.address ?? '')
  expect(previews.toList()).toEqual([])
  offer(3n)
  expect(previews.toList().map(({address}) => address)).toEqual([first?.address.replace(/1$/, '3')])
})

describe('headers', () => {
  test('[BR-31] a reply partition of four bytes stays as it is', () => {
    const bytes = Buffer.from([0, 0, 0, 1])
    const record = recordWith([
      ['kafka_replyPartition', bytes],
      ['kafka_dlt-original-topic', 'orders'],
    ])
    const outgoing = factory({provenance: false}).prepare(record, createDeadLetter(record).failure)
    expect(outgoing.headers()).toEqual([{name: Buffer.from('kafka_replyPartition'), value: bytes}])
  })

  test('an envelope gives its own headers back, repeated and null ones too', () => {
    const recordInside = {
      topic: 'orders',
      partition: 1,
      offset: 5,
      timestamp: 1_700_000_000_000,
      timestampType: 'CREATE_TIME',
      key: null,
      value: Buffer.from('v').toString('base64'),
      headers: [{a: [49]}, {a: [50]}],
    }
    const value = {
      requestContext: {condition: 'RetriesExhausted'},
      KafkaBatchInfo: {},
      payload: {records: {'orders-1': [recordInside]}},
    }
    expect(preview(recordWith([['x', '1']], {value: Buffer.from(JSON.stringify(value))}))).toMatchObject({
      kind: 'aws-lambda',
      before: ['x'],
      after: ['a', 'a', 'kdlq.replay'],
      removed: ['x'],
      added: ['a', 'a', 'kdlq.replay'],
      payloadRestored: true,
    })
  })

  test('says which kept headers break the second life', () => {
    const record = recordWith([
      ['retry_topic-attempts', Buffer.from([0, 0, 0, 4])],
      ['kafka_original-topic', 'orders'],
    ])
    expect(preview(record, {keep: ['*']}).harmful).toEqual(['retry_topic-attempts'])
    expect(preview(record).harmful).toEqual([])
  })

  test('type headers that the serializer of the dead letter added can be kept', () => {
    const record = recordWith([
      ['__TypeId__', 'com.acme.Order'],
      ['kafka_dlt-original-topic', 'orders'],
      ['__TypeId__', 'java.util.LinkedHashMap'],
    ])
    expect(preview(record).after).toEqual(['__TypeId__', 'kdlq.replay'])
    expect(preview(record, {keep: ['__TypeId__']}).after).toEqual(['__TypeId__', '__TypeId__', 'kdlq.replay'])
  })
})

describe('time', () => {
  const retry = recordWith([
    ['kafka_original-topic', 'orders'],
    ['kafka_original-timestamp', Buffer.from('0000018bcfe56800', 'hex')],
  ])
  const parked = recordWith([
    ['kafka_dlt-original-topic', 'orders'],
    ['kafka_dlt-original-timestamp', Buffer.from('0000018bcfe56800', 'hex')],
  ])

  test.each([
    ['default', retry, null],
    ['original', retry, 1_700_000_000_000n],
    ['now', retry, null],
    ['default', parked, 1_700_000_000_000n],
    ['original', parked, 1_700_000_000_000n],
    ['now', parked, null],
  ] as const)('by rule %s', (rule, record, expected) => {
    const {timestamp, timestampLost} = factory({}, rule).prepare(record, createDeadLetter(record).failure)
    expect(timestamp).toBe(expected)
    expect(timestampLost).toBe(false)
  })
})
