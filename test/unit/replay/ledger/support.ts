import {payloadSha256} from '../../../../src/lib/replay/ledger/checksum.ts'
import type {
  IndexedRecord,
  LedgerEntry,
  LedgerOutcome,
  LedgerTopic,
  SourceAddress,
  SourcePartition,
  SourceRef,
} from '../../../../src/lib/replay/ledger/types.ts'

export const RUN_A = 'r-01KB8Q0000AAAAAAAAAAAAAAAA'
export const RUN_B = 'r-01KB8Q0001BBBBBBBBBBBBBBBB'
export const REF: SourceRef = {clusterId: null, topicId: 'AAAAAAAAAAAAAAAAAAAAAA'}
export const LEDGER: LedgerTopic = {
  name: 'kdlq-ledger',
  topicId: 'id-of-kdlq-ledger',
  clusterId: 'cluster-1',
  partitions: 12,
  maxMessageBytes: 1_048_588,
}

export function partitionOf(topic = 'orders-dlq', partition = 0, ref: SourceRef = REF): SourcePartition {
  return {...ref, topic, partition}
}

export function addressOf(offset: bigint, partition: SourcePartition = partitionOf()): SourceAddress {
  return {...partition, offset}
}

/** A dead letter as the index sees it. */
export function recordOf(offset: bigint, over: Partial<IndexedRecord> = {}): IndexedRecord {
  return {
    topic: 'orders-dlq',
    partition: 0,
    offset,
    key: Buffer.from(`k${offset}`),
    value: Buffer.from(`v${offset}`),
    ...over,
  }
}

/** What a run made of `recordOf(offset)`. */
export function outcomeOf(offset: bigint, over: Partial<LedgerOutcome> = {}): LedgerOutcome {
  const {key, value} = recordOf(offset)
  return {
    source: addressOf(offset),
    state: 'replayed',
    origin: {topic: 'orders', partition: 3, offset: 1000n + offset},
    target: {topic: 'orders', partition: 3, offset: 2000n + offset, clusterId: null},
    sha256: payloadSha256(key, value),
    attempt: 1,
    reason: null,
    scanFrom: null,
    ...over,
  }
}

export function entryOf(offset: bigint, over: Partial<LedgerEntry> = {}): LedgerEntry {
  return {...outcomeOf(offset), run: RUN_A, by: 'ada', at: 1_764_500_000_000n, ...over}
}
