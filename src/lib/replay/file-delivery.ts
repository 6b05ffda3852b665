import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import type {Clock} from '../clock.ts'
import {BugError} from '../errors.ts'
import type {Cluster, ProducerSession} from '../kafka/ports.ts'
import {AtLeastOnceWriter} from './at-least-once.ts'
import type {Chunk, RecordOutcome} from './chunk.ts'
import type {Delivery, RunEnd} from './delivery.ts'
import {LedgerDelivery} from './ledger-delivery.ts'
import type {LedgerView} from './ledger-judge.ts'
import {toLedgerOutcome} from './ledger-outcomes.ts'
import {ARCHIVE_LEDGER, cutArchive, markRecord, measureFiles} from './ledger/archive-mark.ts'
import {claimedError, foreignClaims} from './ledger/claims.ts'
import {openFileLedger} from './ledger/file-ledger.ts'
import type {FileLedger} from './ledger/file-ledger.ts'
import type {LockDeps} from './ledger/file-lock.ts'
import type {LedgerOutcome, LedgerRecord, LedgerTopic} from './ledger/types.ts'
import {LedgerScribe} from './ledger/writer.ts'
import type {LedgerAuthor} from './ledger/writer.ts'
import type {ReplayPlan} from './plan.ts'
import {resolveSending} from './resolve-sending.ts'
import {writeBatches} from './write-chunk.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** What a run with a ledger file works with. */
export interface FileDeliveryDeps {
  readonly target: Cluster
  readonly clock: Clock
  readonly lock: LockDeps
}

/** The run. */
export interface FileDeliveryInput {
  /** The ledger file, or the directory of the archive that is written to. */
  readonly ledger: {readonly kind: 'file' | 'archive'; readonly path: string}
  readonly author: LedgerAuthor
  readonly plan: ReplayPlan
  readonly reason: string | null
  readonly version: string
  readonly deliveryTimeoutMs: number
  readonly resume: boolean
  /** A run whose claims are ended first; null = none. */
  readonly takeOver: string | null
}

/** The file of a ledger that is no topic. */
export function ledgerPath({kind, path}: FileDeliveryInput['ledger']): string {
  return kind === 'archive' ? join(path, ARCHIVE_LEDGER) : path
}

/** A ledger file by the words of a ledger topic, for messages. */
export function fileAsLedger(path: string): LedgerTopic {
  return {name: path, topicId: null, clusterId: null, partitions: 1, maxMessageBytes: null}
}

/**
 * Open a run on a ledger file. In an archive what a killed chunk left behind the last common state of archive and ledger is
 * cut off, before the archive is opened.
 * @throws RefusedError `E_CLAIMED`, `E_LEDGER_LOCKED`; IoError; KafkaError `E_ARCHIVE_SHORT`
 */
export async function openFileDelivery(
  deps: FileDeliveryDeps,
  input: FileDeliveryInput,
  {signal}: {readonly signal?: AbortSignal | undefined} = {},
): Promise<Delivery> {
  const run = new FileRun(deps, input)
  try {
    await run.open(signal)
    return run
  } catch (error) {
    await run[Symbol.asyncDispose]()
    throw error
  }
}

class FileRun extends LedgerDelivery<ChunkWriter> {
  readonly #deps: FileDeliveryDeps
  readonly #input: FileDeliveryInput
  readonly #scribe: LedgerScribe
  readonly #files: readonly string[]
  #ledger: FileLedger | null = null
  #session: ProducerSession | null = null
  #chunks = 0

  constructor(deps: FileDeliveryDeps, input: FileDeliveryInput) {
    const {plan, author} = input
    super(plan, null)
    this.#deps = deps
    this.#input = input
    this.#scribe = new LedgerScribe(deps.clock, author)
    const topics = [...plan.targets, ...(plan.parking === null ? [] : [plan.parking])]
    this.#files = [...new Set(topics.map(({topic}) => `${topic}.ndjson`))]
  }

  override get view(): LedgerView {
    return {index: this.#opened().contents.index, refOf: this.refOf}
  }

  async open(signal: AbortSignal | undefined): Promise<void> {
    const {ledger, author, plan, resume, deliveryTimeoutMs, takeOver} = this.#input
    if (ledger.kind === 'archive') await mkdir(ledger.path, {recursive: true})
    this.#ledger = await openFileLedger(ledgerPath(ledger), this.#deps.lock, {create: true})
    if (ledger.kind === 'archive' && (await cutArchive(ledger.path, this.#ledger))) await this.#reopen()
    this.#chunks = (this.#opened().marks.get(author.run)?.mark.chunk ?? -1) + 1
    if (takeOver !== null) await this.#endOther(takeOver)
    const foreign = foreignClaims(this.#opened().contents.claims, this.partitions, author.run)
    if (foreign.length > 0) throw claimedError(foreign, fileAsLedger(ledgerPath(ledger)), this.#deps.clock.now())
    this.#session = await this.#deps.target.writer.open({
      compression: plan.compression,
      transactionalId: null,
      deliveryTimeoutMs,
    })
    if (!resume) await this.#opened().append(await this.#beginning())
    this.before = [...this.view.index.entriesOfRun(author.run)]
    this.openWriter = ledger.kind === 'archive' ? this.#archiveWriter(this.#session) : this.#plainWriter(this.#session)
    if (resume && ledger.kind === 'file') {
      this.resolutions = await resolveSending(this.#deps.target, this.view.index, {run: author.run, plan}, {signal})
    }
  }

  override async hold(outcomes: readonly LedgerOutcome[]): Promise<void> {
    const records = this.#scribe.entries(outcomes)
    await this.#opened().append(this.#input.ledger.kind === 'archive' ? [...records, await this.#mark()] : records)
  }

  override async end(status: RunEnd): Promise<void> {
    await this.#opened().append([this.#scribe.status(status), ...this.#scribe.claimEnds(this.partitions)])
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#session?.close()
    await this.#ledger?.close()
  }

  async #beginning(): Promise<readonly LedgerRecord[]> {
    const {reason, version, plan, ledger} = this.#input
    const records = [...this.#scribe.claims(this.partitions), ...this.#scribe.run({reason, version}, {plan, files: {}})]
    return ledger.kind === 'archive' ? [...records, await this.#mark()] : records
  }

  async #mark(): Promise<LedgerRecord> {
    const {ledger, author} = this.#input
    const files = await measureFiles(ledger.path, this.#files)
    return markRecord({run: author.run, chunk: this.#chunks++, files})
  }

  async #endOther(other: string): Promise<void> {
    const {claims} = this.#opened().contents
    const scribe = new LedgerScribe(this.#deps.clock, {run: other, by: this.#input.author.by})
    const ends = scribe.claimEnds(claims.filter(({run}) => run === other).map(({source}) => source))
    const reason = `taken over by ${this.#input.author.run}`
    await this.#opened().append([scribe.status({state: 'taken-over', reason, counts: {}}), ...ends])
    await this.#reopen()
  }

  async #reopen(): Promise<void> {
    await this.#opened().close()
    this.#ledger = null
    this.#ledger = await openFileLedger(ledgerPath(this.#input.ledger), this.#deps.lock, {create: false})
  }

  /** A chunk in an archive: lines, synced, then its entries and the new sizes in one line after the other, synced. */
  #archiveWriter(session: ProducerSession): ChunkWriter {
    return {
      write: async (chunk: Chunk, options = {}) => {
        const outcomes = await writeBatches(session, chunk.batches(), options)
        await this.#opened().append([...this.#entries(outcomes), await this.#mark()])
        return outcomes
      },
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  #entries(outcomes: readonly RecordOutcome[]): readonly LedgerRecord[] {
    const {view} = this
    const {clusterId} = this.#deps.target.description
    const entries = outcomes.map(outcome => toLedgerOutcome(view, outcome, clusterId))
    return this.#scribe.entries(entries.filter(entry => entry !== null))
  }

  #plainWriter(session: ProducerSession): AtLeastOnceWriter {
    const {target} = this.#deps
    return new AtLeastOnceWriter(
      {
        target,
        view: this.view,
        targetClusterId: target.description.clusterId,
        write: async outcomes => this.#opened().append(this.#scribe.entries(outcomes)),
      },
      session,
    )
  }

  #opened(): FileLedger {
    if (this.#ledger === null) throw new BugError('the ledger file is not open')
    return this.#ledger
  }
}
