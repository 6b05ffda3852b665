import type {Clock} from '../../clock.ts'
import {KafkaError, RefusedError, UnreachableError} from '../../errors.ts'
import type {Cluster, ReadNotice} from '../../kafka/ports.ts'
import {recordsIn} from '../../kafka/records/records-in.ts'
import type {RecordCursor} from '../../kafka/records/types.ts'
import {LedgerContents} from './contents.ts'
import type {ContentsOptions} from './contents.ts'
import {allPartitions, ledgerPartition, ledgerPartitions} from './layout.ts'
import {readRunDocument} from './run-record.ts'
import type {RunDocument} from './run-record.ts'
import type {LedgerRun, LedgerTopic} from './types.ts'
import {waitForStable} from './wait-stable.ts'
import type {StableWait} from './wait-stable.ts'

/** What reading needs. */
export interface LedgerReadDeps {
  readonly cluster: Pick<Cluster, 'reader' | 'admin'>
  readonly clock: Clock
}

export interface LedgerReadOptions extends StableWait {
  /** Bytes a second. */
  readonly readRate?: number | undefined
}

/**
 * Reads ledger partitions to their high watermark, read_committed, and goes on from there when asked again.
 *
 * The last stable offset is no end: entries behind somebody else's open transaction are committed too, and a run that does
 * not see them sends twice. So the reader waits until nothing below the high watermark is undecided.
 */
export class LedgerReader {
  readonly ledger: LedgerTopic
  readonly contents: LedgerContents
  readonly #deps: LedgerReadDeps
  readonly #options: LedgerReadOptions
  /** Next offset by ledger partition. */
  readonly #positions = new Map<number, bigint>()

  constructor(
    deps: LedgerReadDeps,
    ledger: LedgerTopic,
    options: LedgerReadOptions = {},
    contents: ContentsOptions = {},
  ) {
    this.#deps = deps
    this.ledger = ledger
    this.#options = options
    this.contents = new LedgerContents(contents)
  }

  /**
   * Read these partitions up to where they end now.
   * @throws UnreachableError `E_LEDGER_BUSY` when somebody's transaction stays open, `E_LEDGER_INCOMPLETE` when a partition
   * cannot be read to its end; KafkaError `E_LEDGER_CORRUPT` for bytes that cannot be read; RefusedError
   * `E_LEDGER_RECREATED` when a partition is shorter than it was
   */
  async catchUp(
    partitions: readonly number[],
    {signal}: {readonly signal?: AbortSignal | undefined} = {},
  ): Promise<void> {
    const ends = await this.#offsets(partitions, 'latest', signal)
    const fresh = partitions.filter(partition => !this.#positions.has(partition))
    const starts = await this.#offsets(fresh, 'earliest', signal)
    for (const partition of fresh) this.#positions.set(partition, starts.get(partition) ?? 0n)
    const wanted = new Map<number, bigint>()
    for (const [partition, end] of ends) {
      const position = this.#positions.get(partition) ?? 0n
      if (position > end) throw this.#recreated(partition)
      if (position < end) wanted.set(partition, end)
    }
    if (wanted.size === 0) return
    await waitForStable(this.#deps, this.ledger.name, wanted, this.#options, {signal})
    await this.#read(wanted, signal)
  }

  async #read(wanted: ReadonlyMap<number, bigint>, signal: AbortSignal | undefined): Promise<void> {
    const topic = this.ledger.name
    const blocks = this.#deps.cluster.reader.read(
      {
        ranges: [...wanted].map(([partition, to]) => ({
          topic,
          partition,
          from: this.#positions.get(partition) ?? 0n,
          to,
        })),
        isolationLevel: 'read_committed',
        order: 'arrival',
        ...(this.#options.readRate === undefined ? {} : {readRate: this.#options.readRate}),
      },
      {signal},
    )
    const done = new Set<number>()
    for await (const block of blocks) {
      for (const notice of block.notices) this.#notice(block.partition, notice)
      for (const cursor of recordsIn(block)) this.contents.add(keyOf(cursor), valueOf(cursor), cursor.offset)
      if (block.done) done.add(block.partition)
    }
    for (const [partition, end] of wanted) {
      if (!done.has(partition)) throw this.#incomplete(partition, 'the read ended early', null)
      this.#positions.set(partition, end)
    }
  }

  #notice(partition: number, notice: ReadNotice): void {
    if (notice.kind === 'incomplete') throw this.#incomplete(partition, notice.reason, notice.error)
    if (notice.kind === 'undecodable') {
      const {from, error} = notice
      throw new KafkaError(`ledger ${this.ledger.name}:${partition}:${from} cannot be read: ${error.message}`, {
        code: 'E_LEDGER_CORRUPT',
        hints: ['a ledger with a hole does not say what was done; repair the topic or use another ledger'],
        context: {ledger: this.ledger.name, partition, offset: `${from}`},
        cause: error,
      })
    }
  }

  #incomplete(partition: number, why: string, cause: unknown): UnreachableError {
    return new UnreachableError(`ledger ${this.ledger.name} could not be read to its end: ${why}`, {
      code: 'E_LEDGER_INCOMPLETE',
      hints: ['nothing was sent; try again when the cluster is healthy'],
      context: {ledger: this.ledger.name, partition},
      cause,
    })
  }

  #recreated(partition: number): RefusedError {
    return new RefusedError(`ledger ${this.ledger.name} is shorter than it was: it was recreated or cut`, {
      code: 'E_LEDGER_RECREATED',
      context: {ledger: this.ledger.name, partition},
    })
  }

  async #offsets(
    partitions: readonly number[],
    at: 'earliest' | 'latest',
    signal: AbortSignal | undefined,
  ): Promise<Map<number, bigint>> {
    if (partitions.length === 0) return new Map()
    const topic = this.ledger.name
    const answers = await this.#deps.cluster.reader.offsets(
      partitions.map(partition => ({topic, partition, at})),
      {signal},
    )
    const offsets = new Map<number, bigint>()
    for (const {partition, offset, error} of answers) {
      if (error !== null || offset === null) throw error ?? this.#incomplete(partition, 'it has no end offset', null)
      offsets.set(partition, offset)
    }
    return offsets
  }
}

/**
 * Read what a ledger says about dead letter topics.
 * @param topics null = all that it holds
 * @throws as `LedgerReader.catchUp`
 */
export async function readLedger(
  deps: LedgerReadDeps,
  ledger: LedgerTopic,
  topics: readonly string[] | null,
  options: LedgerReadOptions & {readonly signal?: AbortSignal | undefined} = {},
): Promise<LedgerContents> {
  const reader = new LedgerReader(deps, ledger, options)
  await reader.catchUp(topics === null ? allPartitions(ledger) : ledgerPartitions(ledger, topics), options)
  return reader.contents
}

/** Runs that a ledger knows, oldest first. @throws as `LedgerReader.catchUp` */
export async function listRuns(
  deps: LedgerReadDeps,
  ledger: LedgerTopic,
  options: LedgerReadOptions & {readonly signal?: AbortSignal | undefined} = {},
): Promise<readonly LedgerRun[]> {
  const reader = new LedgerReader(deps, ledger, options, {entries: false})
  await reader.catchUp(allPartitions(ledger), options)
  return reader.contents.runs
}

/** A run as the ledger holds it. */
export interface StoredRun extends LedgerRun {
  readonly document: RunDocument
}

/**
 * A run with its plan, to go on with it.
 * @throws RefusedError `E_NO_RUN` when the ledger does not know it; as `readRunDocument`; as `LedgerReader.catchUp`
 */
export async function loadRun(
  deps: LedgerReadDeps,
  ledger: LedgerTopic,
  run: string,
  options: LedgerReadOptions & {readonly signal?: AbortSignal | undefined} = {},
): Promise<StoredRun> {
  const reader = new LedgerReader(deps, ledger, options, {entries: false, documentOf: run})
  await reader.catchUp([ledgerPartition(ledger, run)], options)
  const {head, status} = reader.contents.run(run)
  if (head === null) {
    throw new RefusedError(`ledger ${ledger.name} does not know run ${run}`, {
      code: 'E_NO_RUN',
      hints: ['kdlq runs lists those it knows', 'a run of another ledger needs --ledger'],
      context: {run, ledger: ledger.name},
    })
  }
  return {run, head, status, document: readRunDocument(head, reader.contents.pieces)}
}

function keyOf({bytes, keyStart, keyLength}: RecordCursor): Buffer | null {
  return keyLength < 0 ? null : bytes.subarray(keyStart, keyStart + keyLength)
}

function valueOf({bytes, valueStart, valueLength}: RecordCursor): Buffer | null {
  return valueLength < 0 ? null : bytes.subarray(valueStart, valueStart + valueLength)
}
