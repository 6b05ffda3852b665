import type {KafkaRecord} from '../../kafka/record.ts'

/** Version of every value that kdlq writes into a ledger; values of another version are counted as unreadable. */
export const LEDGER_VERSION = 1
/** Name of the ledger topic when none is given. */
export const DEFAULT_LEDGER = 'kdlq-ledger'
/** Partitions of a ledger topic that kdlq creates. */
export const LEDGER_PARTITIONS = 12

/** What was done to a dead letter. `sending` = about to be written, outcome not known yet. */
export const LEDGER_STATES = [
  'sending',
  'replayed',
  'parked',
  'discarded',
  'skipped',
  'held',
  'delayed',
  'failed',
] as const
export type LedgerState = (typeof LEDGER_STATES)[number]

/** States that `--handled hide` leaves out. A failed or skipped record is offered again; a `sending` one may be there. */
export const LEFT_OUT_STATES: ReadonlySet<LedgerState> = new Set([
  'sending',
  'replayed',
  'parked',
  'discarded',
  'held',
  'delayed',
])
/** States that let `purge` delete a record. */
export const PURGEABLE_STATES: ReadonlySet<LedgerState> = new Set(['replayed', 'parked', 'discarded', 'delayed'])

/** Which incarnation of a topic is meant. */
export interface SourceRef {
  /** Null = the cluster of the ledger itself; see `sourceRef`. */
  readonly clusterId: string | null
  /** Null for archives and brokers without topic ids. */
  readonly topicId: string | null
}

/** One partition of a dead letter topic. */
export interface SourcePartition extends SourceRef {
  readonly topic: string
  readonly partition: number
}

/** One dead letter, for ever: the id tells a recreated topic from its predecessor. */
export interface SourceAddress extends SourcePartition {
  readonly offset: bigint
}

/** Where the record failed; partition and offset are null when the headers do not say. */
export interface LedgerOrigin {
  readonly topic: string
  readonly partition: number | null
  readonly offset: bigint | null
}

/** Where a record went. */
export interface LedgerTarget {
  readonly topic: string
  readonly partition: number
  /** Null before the acknowledgement, and where the target does not number records. */
  readonly offset: bigint | null
  /** Null = the cluster of the ledger itself. */
  readonly clusterId: string | null
}

/** What became of one dead letter; the input of the writer. */
export interface LedgerOutcome {
  readonly source: SourceAddress
  readonly state: LedgerState
  readonly origin: LedgerOrigin | null
  /** Null when nothing was written anywhere. */
  readonly target: LedgerTarget | null
  /** Of the dead letter's key and value; see `payloadSha256`. */
  readonly sha256: Buffer
  /** Replays of this record's chain so far, this one included; 0 = never replayed. */
  readonly attempt: number
  /** The operator's words, or what the target said; null = nothing. */
  readonly reason: string | null
  /** Only `sending`: end offset of the target partition before the chunk, where a search for it starts. */
  readonly scanFrom: bigint | null
}

/** An outcome as it stands in the ledger. */
export interface LedgerEntry extends LedgerOutcome {
  readonly run: string
  /** Operator; null = not said. */
  readonly by: string | null
  /** Epoch ms. */
  readonly at: bigint
}

/** A run's claim on one partition of a dead letter topic. */
export interface LedgerClaim {
  readonly source: SourcePartition
  readonly run: string
  readonly by: string | null
  /** Epoch ms. */
  readonly at: bigint
}

/** A claim that was not ended, with its place in the ledger: the lowest offset holds. */
export interface LiveClaim extends LedgerClaim {
  readonly offset: bigint
}

/** What a run is, stored before its first write. */
export interface LedgerRunHead {
  readonly run: string
  readonly by: string | null
  /** Creation time, epoch ms. */
  readonly at: bigint
  /** `--reason`; null = none */
  readonly reason: string | null
  /** Version of kdlq that made it. */
  readonly version: string
  /** The document's pieces, bytes, and SHA-256 in hex. */
  readonly pieces: number
  readonly bytes: number
  readonly sha256: string
}

/** How a run stands; the last one written counts. A run without one was killed, or goes on. */
export interface LedgerRunStatus {
  readonly run: string
  readonly state: 'completed' | 'stopped' | 'taken-over'
  readonly at: bigint
  readonly by: string | null
  /** Why it stopped, or who took it over; null = completed. */
  readonly reason: string | null
  /** Counts by the names of `ReplayCounts`. */
  readonly counts: Readonly<Record<string, number>>
  /** Metrics of error handling by the names of KIP-298, of all processes so far; absent = not said. */
  readonly metrics?: Readonly<Record<string, number>> | undefined
}

/** A run as the ledger knows it. `head` is null when only its end is left. */
export interface LedgerRun {
  readonly run: string
  readonly head: LedgerRunHead | null
  readonly status: LedgerRunStatus | null
}

/** One record of a ledger before it is placed; a null value deletes the key (tombstone). */
export interface LedgerRecord {
  /** Topic name or run id; its hash is the partition. Null = partition 0. */
  readonly route: string | null
  readonly key: string
  readonly value: string | Buffer | null
}

/** A ledger topic that was checked. */
export interface LedgerTopic {
  readonly name: string
  readonly topicId: string | null
  /** Of the cluster that holds it. */
  readonly clusterId: string | null
  /** As `meta|layout` says; the topic has at least these. */
  readonly partitions: number
  /** `max.message.bytes`; null = not known */
  readonly maxMessageBytes: number | null
}

/** The member `handled` of one dead letter, and `stale`. */
export interface HandledFact {
  readonly state: LedgerState
  readonly run: string
  /** Epoch ms, decimal. */
  readonly at: string
  readonly by: string | null
  readonly attempt: number
  readonly target: {readonly topic: string; readonly partition: number; readonly offset: string | null} | null
  readonly reason: string | null
  /** The entry is about another record: the topic was recreated, or key or value differ. It counts for nothing. */
  readonly stale: boolean
}

/** A dead letter as the index needs it. */
export type IndexedRecord = Pick<KafkaRecord, 'topic' | 'partition' | 'offset' | 'key' | 'value'>
