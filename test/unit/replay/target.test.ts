import {describe, expect, test} from 'vitest'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {compileHeaderPolicy, DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import {singleBatchBytes} from '../../../src/lib/replay/record-size.ts'
import {RecordBatchBuilder} from '../../../src/lib/kafka/records/batch-builder.ts'
import {ORIGIN_TARGET, resolveDestination, targetTopic} from '../../../src/lib/replay/target.ts'
import {deadLetter, header} from './support.ts'

const failure = (topic?: string, partition?: number): Failure => ({
  dialect: 'connect',
  ...(topic === undefined ? {} : {origin: {topic, ...(partition === undefined ? {} : {partition})}}),
})
const BY_KEY = {...ORIGIN_TARGET, partitionRule: 'key'} as const
const FALLBACK = {...ORIGIN_TARGET, partitionFallback: 'key'} as const

describe('resolveDestination', () => {
  test('the template may stand inside a name, and an origin cannot smuggle patterns into it', () => {
    expect(targetTopic({...ORIGIN_TARGET, topic: 'again.{origin.topic}'}, failure('orders'))).toBe('again.orders')
    expect(targetTopic({...ORIGIN_TARGET, topic: '{origin.topic}'}, failure('$&'))).toBe('$&')
    expect(targetTopic({...ORIGIN_TARGET, topic: 'fixed'}, failure())).toBe('fixed')
    expect(targetTopic(ORIGIN_TARGET, failure())).toBeNull()
  })

  test.each([
    ['no origin', ORIGIN_TARGET, failure(), {partitions: 6}, {kind: 'no-origin'}],
    ['origin', ORIGIN_TARGET, failure('orders', 5), {partitions: 6}, {kind: 'known', partition: 5, fallback: null}],
    [
      'last partition + 1',
      ORIGIN_TARGET,
      failure('orders', 6),
      {partitions: 6},
      {kind: 'target-partition', partition: 6},
    ],
    ['negative', ORIGIN_TARGET, failure('orders', -1), {partitions: 6}, {kind: 'target-partition', partition: -1}],
    ['none named', ORIGIN_TARGET, failure('orders'), {partitions: 6}, {kind: 'target-partition', partition: null}],
    ['fallback', FALLBACK, failure('orders', 6), {partitions: 6}, {kind: 'known', fallback: 'key'}],
    ['missing', ORIGIN_TARGET, failure('orders', 0), {partitions: 0}, {kind: 'target-missing', topic: 'orders'}],
    ['unknown', ORIGIN_TARGET, failure('orders', 0), null, {kind: 'target-missing', topic: 'orders'}],
    ['illegal', ORIGIN_TARGET, failure('..', 0), null, {kind: 'illegal-topic', topic: '..'}],
    ['archive', ORIGIN_TARGET, failure('orders', 77), {partitions: null}, {kind: 'known', partition: 77}],
    ['archive by key', BY_KEY, failure('orders', 1), {partitions: null}, {kind: 'target-partition', partitions: null}],
  ] as const)('%s', (_, rule, from, facts, expected) => {
    expect(resolveDestination(rule, deadLetter(0), from, facts)).toMatchObject(expected)
  })

  test('the key rule gives the partition of the Java producer', () => {
    // murmur2("foobar") = -790332482; (& 0x7fffffff) = 1357151166
    const record = deadLetter(0, {key: Buffer.from('foobar')})
    expect(resolveDestination(BY_KEY, record, failure('orders', 1), {partitions: 7})).toMatchObject({
      partition: 1_357_151_166 % 7,
    })
  })

  test('records without a key are spread, the same way each time', () => {
    const all = Array.from({length: 60}, (_, offset) =>
      resolveDestination(BY_KEY, deadLetter(offset, {key: null}), failure('orders', 1), {partitions: 3}),
    )
    expect(new Set(all.map(found => (found.kind === 'known' ? found.partition : -1)))).toEqual(new Set([0, 1, 2]))
    expect(all.every(found => found.kind === 'known' && found.fallback === 'spread')).toBe(true)
    expect(resolveDestination(BY_KEY, deadLetter(7, {key: null}), failure('orders', 1), {partitions: 3})).toEqual(
      all[7],
    )
  })
})

describe('header policy', () => {
  const drops = (policy: Partial<typeof DEFAULT_HEADER_POLICY>, strips: (name: Buffer) => boolean = () => false) => {
    const compiled = compileHeaderPolicy({...DEFAULT_HEADER_POLICY, ...policy})(strips)
    return (name: string): boolean => compiled(Buffer.from(name), 0)
  }

  test.each([
    ['a*', 'a', true],
    ['a*', 'ab', true],
    ['a*', 'ba', false],
    ['*a', 'ba', true],
    ['a*c*e', 'abcde', true],
    ['a*c*e', 'ace', true],
    ['a*c*e', 'ae', false],
    ['ab*ba', 'aba', false],
    ['*', '', true],
    ['a', 'A', false],
    ['', '', true],
    ['', 'a', false],
  ])('%j against %j: %j', (pattern, name, expected) => {
    expect(drops({drop: [pattern]})(name)).toBe(expected)
  })

  test('our own header always goes, kept or not', () => {
    expect(drops({keep: ['*'], provenance: false})('kdlq.replay')).toBe(true)
  })

  test('keep saves from the dialect, not from drop', () => {
    const strips = (name: Buffer): boolean => name.toString().startsWith('x-')
    expect(drops({keep: ['x-a']}, strips)('x-a')).toBe(false)
    expect(drops({keep: ['x-a'], drop: ['x-*']}, strips)('x-a')).toBe(true)
    expect(drops({strip: false}, strips)('x-a')).toBe(false)
  })
})

describe('singleBatchBytes', () => {
  const records = [
    deadLetter(0),
    deadLetter(0, {key: null, value: null, headers: [header('a', null)]}),
    deadLetter(0, {key: Buffer.alloc(0), value: Buffer.alloc(0), headers: []}),
    ...[62, 63, 64, 65, 8190, 8191, 8192, 1_048_575].map(size =>
      deadLetter(0, {value: Buffer.alloc(size), headers: []}),
    ),
  ]

  test('is the size of the batch as it is encoded', () => {
    const options = {
      compression: 'none',
      producerId: 1n,
      producerEpoch: 0,
      baseSequence: 0,
      transactional: false,
    } as const
    for (const record of records) {
      const batch = new RecordBatchBuilder()
      batch.append(record)
      expect(singleBatchBytes(record)).toBe(batch.encode(options).length)
    }
  })
})
