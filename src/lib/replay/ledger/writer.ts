import type {Clock} from '../../clock.ts'
import {BugError, KafkaError} from '../../errors.ts'
import type {OutgoingBatch, ProducerSession, TransactionSession} from '../../kafka/ports.ts'
import {RecordBatchBuilder} from '../../kafka/records/batch-builder.ts'
import {ledgerPartition} from './layout.ts'
import {claimEndRecord, claimRecord, entryRecord, statusRecord} from './records.ts'
import {runRecords} from './run-record.ts'
import type {RunDocument} from './run-record.ts'
import type {
  LedgerOutcome,
  LedgerRecord,
  LedgerRunHead,
  LedgerRunStatus,
  LedgerTopic,
  SourcePartition,
} from './types.ts'

/** Batches are at most this large before compression, or as large as their one record. */
const BATCH_BYTES = 1024 * 1024 - 4096
/** Left for the batch header and the key when a document is cut to a small `max.message.bytes`. */
const PIECE_OVERHEAD = 4096

/** Who writes, for every value. */
export interface LedgerAuthor {
  readonly run: string
  /** Operator; null = not said. */
  readonly by: string | null
}

/** Turns what a run does into ledger records: one place for topic and file ledgers. */
export class LedgerScribe {
  readonly #author: LedgerAuthor
  readonly #clock: Clock

  constructor(clock: Clock, author: LedgerAuthor) {
    this.#clock = clock
    this.#author = author
  }

  entries(outcomes: readonly LedgerOutcome[]): readonly LedgerRecord[] {
    const at = this.#now()
    return outcomes.map(outcome => entryRecord({...outcome, ...this.#author, at}))
  }

  claims(partitions: readonly SourcePartition[]): readonly LedgerRecord[] {
    const at = this.#now()
    return partitions.map(source => claimRecord({source, ...this.#author, at}))
  }

  /** Withdraw, end, or take away the claims of this author's run. */
  claimEnds(partitions: readonly SourcePartition[]): readonly LedgerRecord[] {
    return partitions.map(source => claimEndRecord({source, run: this.#author.run}))
  }

  /** @param pieceBytes see `pieceBytesOf` */
  run(
    facts: Pick<LedgerRunHead, 'reason' | 'version'>,
    document: RunDocument,
    pieceBytes?: number,
  ): readonly LedgerRecord[] {
    return runRecords({...facts, ...this.#author, at: this.#now()}, document, pieceBytes)
  }

  status(status: Pick<LedgerRunStatus, 'state' | 'reason' | 'counts' | 'metrics'>): LedgerRecord {
    return statusRecord({...status, ...this.#author, at: this.#now()})
  }

  #now(): bigint {
    return BigInt(Math.trunc(this.#clock.now()))
  }
}

/** Largest piece of a run's document that a ledger topic takes, bytes. */
export function pieceBytesOf({maxMessageBytes}: Pick<LedgerTopic, 'maxMessageBytes'>): number {
  return Math.max(1024, Math.min(900_000, (maxMessageBytes ?? BATCH_BYTES) - PIECE_OVERHEAD))
}

/**
 * Place records into batches. Several rounds when they are too many for one: a call of `produce` takes one batch a
 * partition, and the records of one partition have to stay in order.
 * @param timestamp epoch ms of all of them
 */
export function toRounds(
  ledger: Pick<LedgerTopic, 'name' | 'partitions' | 'maxMessageBytes'>,
  records: readonly LedgerRecord[],
  timestamp: bigint,
): readonly (readonly OutgoingBatch[])[] {
  const limit = Math.min(BATCH_BYTES, ledger.maxMessageBytes ?? BATCH_BYTES)
  const partitions = new Map<string | null, number>()
  const queues = new Map<number, RecordBatchBuilder[]>()
  for (const {route, key, value} of records) {
    const partition = partitions.get(route) ?? ledgerPartition(ledger, route)
    partitions.set(route, partition)
    const queue = queues.get(partition) ?? []
    queues.set(partition, queue)
    const record = {timestamp, key: Buffer.from(key), value: bytesOf(value), headers: []}
    let batch = queue.at(-1)
    if (batch === undefined || (batch.count > 0 && batch.sizeInBytes + batch.sizeOf(record) > limit)) {
      batch = new RecordBatchBuilder()
      queue.push(batch)
    }
    batch.append(record)
  }
  const rounds: OutgoingBatch[][] = []
  for (const [partition, queue] of queues) {
    queue.forEach((batch, index) => {
      const round = rounds[index] ?? []
      rounds[index] = round
      round.push({topic: ledger.name, partition, records: batch})
    })
  }
  return rounds
}

/**
 * Produce records into the ledger; inside a transaction when the caller has begun one.
 * @throws the first error of a batch: then the transaction has to be aborted
 */
export async function writeLedger(
  session: Pick<ProducerSession, 'produce'>,
  ledger: Pick<LedgerTopic, 'name' | 'partitions' | 'maxMessageBytes'>,
  records: readonly LedgerRecord[],
  options: {readonly clock: Clock; readonly signal?: AbortSignal | undefined},
): Promise<void> {
  const {signal, clock} = options
  for (const round of toRounds(ledger, records, BigInt(Math.trunc(clock.now())))) {
    const results = await session.produce(round, {signal})
    for (const [index, batch] of round.entries()) {
      const result = results[index]
      if (result === undefined) throw new BugError('a ledger batch without an outcome')
      if (result.error === null) continue
      const {code, message, hints, context, retriable} = result.error
      throw new KafkaError(`ledger ${ledger.name}:${batch.partition} could not be written: ${message}`, {
        code,
        hints,
        retriable,
        context: {...context, ledger: ledger.name},
        cause: result.error,
      })
    }
  }
}

/** Write records in a transaction of their own where the session has transactions. @throws as `writeLedger` and `commit` */
export async function commitLedger(
  session: ProducerSession | TransactionSession,
  ledger: LedgerTopic,
  records: readonly LedgerRecord[],
  options: {readonly clock: Clock; readonly signal?: AbortSignal | undefined},
): Promise<void> {
  if (records.length === 0) return
  if (!isTransactional(session)) {
    await writeLedger(session, ledger, records, options)
    return
  }
  session.begin()
  try {
    await writeLedger(session, ledger, records, options)
  } catch (error) {
    await abortQuietly(session)
    throw error
  }
  await session.commit({signal: options.signal})
}

/** The write's own error is the one to tell; a session that cannot abort either is closed by its owner. */
async function abortQuietly(session: TransactionSession): Promise<void> {
  try {
    await session.abort()
  } catch {
    // Fenced or timed out: the coordinator ends the transaction by itself.
  }
}

function isTransactional(session: ProducerSession | TransactionSession): session is TransactionSession {
  return 'commit' in session
}

function bytesOf(value: string | Buffer | null): Buffer | null {
  return typeof value === 'string' ? Buffer.from(value) : value
}
