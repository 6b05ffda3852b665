import type {Clock} from '../clock.ts'
import {isKdlqError, RefusedError} from '../errors.ts'
import type {Cluster, ProducerSession, TransactionSession} from '../kafka/ports.ts'
import {AtLeastOnceWriter} from './at-least-once.ts'
import {TRANSACTION_TIMEOUT_MS} from './delivery.ts'
import type {Delivery, DeliveryNotes, RunEnd} from './delivery.ts'
import {ExactlyOnceWriter} from './exactly-once.ts'
import type {LedgerCopy} from './ledger-copy.ts'
import {LedgerDelivery} from './ledger-delivery.ts'
import type {StepOptions} from './ledger-delivery.ts'
import type {LedgerView} from './ledger-judge.ts'
import {claimPartitions, endRun} from './ledger/claims.ts'
import {ledgerPartition} from './ledger/layout.ts'
import {transactionalIdOf} from './ledger/names.ts'
import {LedgerReader} from './ledger/read-ledger.ts'
import type {LedgerOutcome, LedgerRecord, LedgerTopic, SourceAddress} from './ledger/types.ts'
import {commitLedger, LedgerScribe, pieceBytesOf, writeLedger} from './ledger/writer.ts'
import type {LedgerAuthor} from './ledger/writer.ts'
import type {ReplayPlan} from './plan.ts'
import {resolveSending} from './resolve-sending.ts'
import {RunLedger} from './run-ledger.ts'

/** What a run with a ledger topic works with; the ledger lies on the target's cluster. */
export interface TopicDeliveryDeps extends DeliveryNotes {
  readonly target: Cluster
  readonly clock: Clock
  readonly ledger: LedgerTopic
  /** The source cluster's own ledger, written after each commit; null = there is none. Closed with the delivery. */
  readonly copy: LedgerCopy | null
}

/** The run. */
export interface TopicDeliveryInput {
  readonly author: LedgerAuthor
  readonly plan: ReplayPlan
  readonly reason: string | null
  /** Version of kdlq, for the run's record. */
  readonly version: string
  readonly deliveryTimeoutMs: number
  /** True: the run's record is there, and its claims may be. */
  readonly resume: boolean
}

/**
 * Open a run on a ledger topic: session first (which fences another process of the same run), then the run's record, then
 * claims. What fails on the way is undone. At-least-once without the right to the transactional id does without fencing, and
 * says so once.
 * @throws RefusedError `E_CLAIMED`; AuthError without the right to the transactional id (exactly-once); as the ledger's
 * reader and writer
 */
export async function openTopicDelivery(
  deps: TopicDeliveryDeps,
  input: TopicDeliveryInput,
  {signal}: {readonly signal?: AbortSignal | undefined} = {},
): Promise<Delivery> {
  const run = new TopicRun(deps, input)
  await run.open(signal)
  return run
}

class TopicRun extends LedgerDelivery<ExactlyOnceWriter | AtLeastOnceWriter> {
  readonly #deps: TopicDeliveryDeps
  readonly #input: TopicDeliveryInput
  readonly #reader: LedgerReader
  /** Only at-least-once: entries under the transactional id; null = it may not be used. */
  #runLedger: RunLedger | null = null
  /** Only at-least-once: to the target. */
  #plain: ProducerSession | null = null

  constructor(deps: TopicDeliveryDeps, input: TopicDeliveryInput) {
    super(input.plan, deps.ledger.clusterId)
    this.#deps = deps
    this.#input = input
    this.#reader = new LedgerReader({cluster: deps.target, clock: deps.clock}, deps.ledger)
  }

  override get view(): LedgerView {
    return {index: this.#reader.contents.index, refOf: this.refOf}
  }

  override async hold(outcomes: readonly LedgerOutcome[], {signal}: StepOptions = {}): Promise<void> {
    const {clock, ledger, copy} = this.#deps
    const records = new LedgerScribe(clock, this.#input.author).entries(outcomes)
    const session = this.openWriter instanceof ExactlyOnceWriter ? this.openWriter.session : this.#plain
    if (this.#runLedger !== null) await this.#runLedger.write(records, signal)
    // A lost session holds nothing; the next run finds these dead letters again.
    else if (session !== null) await commitLedger(session, ledger, records, {clock, signal})
    else return
    await copy?.write(outcomes)
  }

  async open(signal: AbortSignal | undefined): Promise<void> {
    const {clock, ledger} = this.#deps
    const {author, plan, reason, version, resume} = this.#input
    const session =
      plan.delivery === 'exactly-once' ? await this.#transactional(signal) : await this.#ledgerSession(signal)
    const scribe = new LedgerScribe(clock, author)
    // Before the claims: whoever meets them, after a kill too, finds a run to resume.
    const head = resume ? [] : scribe.run({reason, version}, {plan, files: {}}, pieceBytesOf(ledger))
    try {
      if (head.length > 0) await commitLedger(session, ledger, head, {clock, signal})
      await claimPartitions({session, reader: this.#reader, clock}, author, this.partitions, {signal})
      this.openWriter = await this.#makeWriter(session, signal)
      this.before = [...this.#reader.contents.index.entriesOfRun(author.run)]
      const topics = [...new Set(this.partitions.map(({topic}) => topic))]
      if (resume) await this.#deps.copy?.complete(ledger, topics, {signal})
    } catch (error) {
      // A run that never began would only stand in the way. (A lost contest has withdrawn its own claims.)
      const claims = error instanceof RefusedError ? [] : scribe.claimEnds(this.partitions)
      if (!resume) {
        const undone = [...head.map(record => ({...record, value: null})), ...claims]
        await withdrawQuietly(session, this.#deps, undone)
      }
      await session.close()
      await this.#plain?.close()
      await this.#deps.copy?.[Symbol.asyncDispose]()
      throw error
    }
  }

  override async end(status: RunEnd, {signal}: StepOptions = {}): Promise<void> {
    const {clock, ledger} = this.#deps
    const {author} = this.#input
    const writer = this.openWriter instanceof ExactlyOnceWriter ? this.openWriter : this.#runLedger
    const session = writer === null ? this.#plain : writer.session
    // A lost session decided nothing: the claims stay, for `resume`.
    if (session === null) return
    await endRun({session, ledger, clock}, author, {partitions: this.partitions, status}, {signal})
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.openWriter?.[Symbol.asyncDispose]()
    await this.#runLedger?.[Symbol.asyncDispose]()
    await this.#plain?.close()
    await this.#deps.copy?.[Symbol.asyncDispose]()
  }

  async #makeWriter(
    session: ProducerSession | TransactionSession,
    signal: AbortSignal | undefined,
  ): Promise<ExactlyOnceWriter | AtLeastOnceWriter> {
    const {clock, ledger, target, copy, onLost} = this.#deps
    const onCommit = copy === null ? undefined : async (outcomes: readonly LedgerOutcome[]) => copy.write(outcomes)
    const {author, plan, resume} = this.#input
    const view = this.view
    const reopen = async (call?: AbortSignal): Promise<TransactionSession> => this.#transactional(call)
    if (plan.delivery === 'exactly-once' && 'commit' in session) {
      const isDone = async (source: SourceAddress, call?: AbortSignal): Promise<boolean> => {
        await this.#reader.catchUp([ledgerPartition(ledger, source.topic)], {signal: call})
        return view.index.stateInRun(author.run, source) !== null
      }
      return new ExactlyOnceWriter({clock, ledger, author, view, reopen, isDone, onCommit, onLost}, session)
    }
    const scribe = new LedgerScribe(clock, author)
    const runLedger = 'commit' in session ? new RunLedger({clock, ledger, reopen, onLost}, session) : null
    this.#runLedger = runLedger
    const write = async (outcomes: readonly LedgerOutcome[], call?: AbortSignal): Promise<void> => {
      const records = scribe.entries(outcomes)
      if (runLedger === null) await writeLedger(session, ledger, records, {clock, signal: call})
      else await runLedger.write(records, call)
    }
    if (resume) this.resolutions = await resolveSending(target, view.index, {run: author.run, plan}, {signal})
    const toTarget = this.#plain ?? (await this.#idempotent())
    return new AtLeastOnceWriter({target, view, targetClusterId: null, write, onCommit}, toTarget)
  }

  /** At-least-once is there for those who may not use transactional ids; who may is fenced like the others. */
  async #ledgerSession(signal: AbortSignal | undefined): Promise<ProducerSession | TransactionSession> {
    try {
      return await this.#transactional(signal)
    } catch (error) {
      if (!isKdlqError(error) || error.code !== 'E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED') throw error
      const id = transactionalIdOf(this.#input.author.run)
      this.#deps.onNote?.(
        `no right to transactional id ${id}: a take-over or a second process of this run cannot stop this one`,
      )
      return this.#idempotent()
    }
  }

  async #transactional(signal: AbortSignal | undefined): Promise<TransactionSession> {
    const {plan, author, deliveryTimeoutMs} = this.#input
    return this.#deps.target.writer.openTransactional(
      {
        transactionalId: transactionalIdOf(author.run),
        compression: plan.compression,
        deliveryTimeoutMs,
        transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
      },
      {signal},
    )
  }

  async #idempotent(): Promise<ProducerSession> {
    const {plan, deliveryTimeoutMs} = this.#input
    const session = await this.#deps.target.writer.open({
      compression: plan.compression,
      transactionalId: null,
      deliveryTimeoutMs,
    })
    this.#plain = session
    return session
  }
}

/** The error that ended the start is the one to tell. */
async function withdrawQuietly(
  session: ProducerSession | TransactionSession,
  {clock, ledger}: TopicDeliveryDeps,
  records: readonly LedgerRecord[],
): Promise<void> {
  try {
    await commitLedger(session, ledger, records, {clock})
  } catch {
    // Run and claims stay; whoever meets them is told how to resume it or take over.
  }
}
