import type {Clock} from '../clock.ts'
import {scanRecords} from '../dead-letter/scan-records.ts'
import type {MatchedRecord, RecordScan} from '../dead-letter/scan-records.ts'
import {KafkaError, RecordError, UnreachableError} from '../errors.ts'
import type {Cluster, ProducerOptions} from '../kafka/ports.ts'
import {compileFilters} from '../select/compile.ts'
import {parseCheckDecisions} from './check-names.ts'
import {Chunk} from './chunk.ts'
import type {ChunkEntry, ChunkLimits, RecordOutcome} from './chunk.ts'
import {InFlight} from './in-flight.ts'
import {Judge, readTopics} from './judge.ts'
import {OffsetSet} from './offset-set.ts'
import type {Outgoing} from './outgoing.ts'
import type {ReplayPlan} from './plan.ts'
import {PlanBudget} from './plan-budget.ts'
import {toFrozenSelection} from './plan-selection.ts'
import type {ReplayOutcome, StopReason} from './result.ts'
import {RunState} from './run-state.ts'
import {targetTopic} from './target.ts'
import type {TargetFacts} from './target.ts'
import {Throttle} from './throttle.ts'
import {verifyPlan} from './verify-plan.ts'
import {createIdempotentWriter} from './write-chunk.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** Chunks when no rate bounds them; also the memory that a run needs at most, about three times. */
const CHUNK_LIMITS: ChunkLimits = {maxRecords: 20_000, maxBytes: 16 * 1024 * 1024}
/** Batches are at most this large before compression, or as large as their one record. */
const BATCH_BYTES = 1024 * 1024 - 4096

/** What a run works with. */
export interface RunDeps {
  readonly source: Cluster
  readonly target: Cluster
  readonly clock: Clock
  readonly onProgress?: ((progress: RunProgress) => void) | undefined
  /** Makes the writer once the run is sure to write; default: an idempotent producer. */
  readonly openWriter?: ((target: Cluster, options: ProducerOptions) => Promise<ChunkWriter>) | undefined
}

/** Told after each chunk. */
export interface RunProgress {
  /** Dead letters whose outcome is known. */
  readonly done: number
  readonly total: number
  readonly replayed: number
  readonly failed: number
}

/** How one plan is executed. */
export interface RunInput {
  readonly run: string
  readonly plan: ReplayPlan
  /** Stop after more than this many failed records; 0 = at the first one, null = never. */
  readonly maxFailed: number | null
  readonly maxDurationMs: number | null
  /** Limit for the outcome of one batch, its repetitions included, ms. */
  readonly deliveryTimeoutMs: number
  readonly readRate?: number | undefined
}

/** Ends a run from the inside. */
class Stop extends KafkaError {
  readonly reason: StopReason
  constructor(reason: StopReason, cause: unknown = null) {
    super(`the run was stopped: ${reason}`, {code: 'E_STOPPED', cause})
    this.reason = reason
  }
}

/**
 * Execute a plan: read its ranges again, write chunk by chunk, count by acknowledgements.
 *
 * An abort stops reading, waits at most 1.5 s for the chunk in flight, and returns what is known; nothing that happens
 * after the first write throws.
 * @throws RefusedError when the plan no longer fits its clusters or refuses itself (before anything is written)
 */
export async function runReplay(
  deps: RunDeps,
  input: RunInput,
  {signal}: {readonly signal?: AbortSignal | undefined} = {},
): Promise<ReplayOutcome> {
  await verifyPlan(deps, input.plan, {signal})
  return new Run(deps, input).execute(signal ?? new AbortController().signal)
}

class Run {
  readonly #deps: RunDeps
  readonly #input: RunInput
  readonly #state = new RunState()
  readonly #throttle: Throttle
  readonly #limits: ChunkLimits
  readonly #judge: Judge
  readonly #facts: ReadonlyMap<string, TargetFacts>
  readonly #include: OffsetSet | null
  readonly #exclude: OffsetSet
  readonly #budget: PlanBudget
  #chunk = new Chunk()
  readonly #inFlight = new InFlight()
  #settled = true

  constructor(deps: RunDeps, input: RunInput) {
    const {plan} = input
    this.#deps = deps
    this.#input = input
    this.#throttle = new Throttle(deps.clock, {recordsPerSecond: plan.rate, bytesPerSecond: plan.bytesRate})
    const burst = this.#throttle.burstRecords
    this.#limits =
      burst === null ? CHUNK_LIMITS : {...CHUNK_LIMITS, maxRecords: Math.min(burst, CHUNK_LIMITS.maxRecords)}
    this.#judge = new Judge({
      ...plan,
      decisions: parseCheckDecisions(plan.allow, plan.skip),
      run: input.run,
      nowMs: BigInt(plan.createdAt),
      readTopics: readTopics(deps, plan.source.ranges),
    })
    this.#facts = new Map(plan.target.topics.map(facts => [facts.topic, facts]))
    this.#include = plan.source.include === null ? null : OffsetSet.from(plan.source.include)
    this.#budget = new PlanBudget(plan.targets)
    this.#exclude = OffsetSet.from(plan.source.exclude)
  }

  async execute(outer: AbortSignal): Promise<ReplayOutcome> {
    const {clock} = this.#deps
    const {plan, maxDurationMs} = this.#input
    const started = clock.monotonic()
    const inner = new AbortController()
    const signal = AbortSignal.any([outer, inner.signal])
    const timer = new AbortController()
    const timeUp = this.#stopAfter(maxDurationMs, inner, timer.signal)
    const scan = scanRecords(
      this.#deps.source,
      toFrozenSelection(plan.source),
      await compileFilters(plan.source.filters),
      {signal, order: 'arrival', readRate: this.#input.readRate},
    )
    let stop: StopReason | null = null
    let error: unknown = null
    try {
      if (plan.counts.toReplay > 0) await this.#write(scan, signal)
      else await this.#skipAll(scan)
    } catch (caught) {
      stop = reasonOf(caught, outer)
      error = caught instanceof Stop ? caught.cause : caught
    } finally {
      timer.abort()
      await timeUp
    }
    return {result: this.#result(scan, stop, clock.monotonic() - started), error}
  }

  async #write(scan: RecordScan, signal: AbortSignal): Promise<void> {
    const {target, openWriter = openIdempotent} = this.#deps
    const {plan, deliveryTimeoutMs} = this.#input
    const writer = await openWriter(target, {compression: plan.compression, transactionalId: null, deliveryTimeoutMs})
    try {
      for await (const scanned of scan) {
        for (const match of scanned.matches()) {
          if (this.#isIncluded(match)) await this.#take(match, writer, signal)
        }
      }
      await this.#flush(writer, signal)
      await this.#inFlight.settle(signal)
    } finally {
      await this.#settleLast()
      await this.#close(writer)
    }
  }

  /** A plan whose every record is left out: count them, open no producer. */
  async #skipAll(scan: RecordScan): Promise<void> {
    for await (const scanned of scan) {
      for (const match of scanned.matches()) if (this.#isIncluded(match)) this.#state.skip()
    }
  }

  #isIncluded({topic, partition, cursor}: MatchedRecord): boolean {
    return this.#include === null || this.#include.has(topic, partition, cursor.offset)
  }

  /** One dead letter: out, or into the chunk. Waits only while the chunk is empty. */
  async #take(match: MatchedRecord, writer: ChunkWriter, signal: AbortSignal): Promise<void> {
    const letter = match.deadLetter()
    const {record, failure} = letter
    const {plan} = this.#input
    if (this.#exclude.has(record.topic, record.partition, record.offset)) {
      this.#state.skip()
      return
    }
    const topic = targetTopic(plan.target, failure)
    const facts = topic === null ? null : (this.#facts.get(topic) ?? null)
    const judgement = this.#judge.judge(letter, facts)
    const {outgoing} = judgement
    const {topic: from, partition, offset} = record
    const entry: ChunkEntry = {topic: from, partition, offset, attempt: outgoing.attempt}
    if (judgement.fate !== 'send') {
      if (judgement.fate === 'skip') this.#state.skip()
      else this.#state.fail(entry, 'failed', new RecordError('refused by a check', {code: 'E_CHECKS_REFUSED'}))
      return
    }
    const {destination} = judgement
    if (!this.#budget.take(destination)) {
      this.#state.fail(entry, 'failed', new RecordError('the plan does not show this write', {code: 'E_PLAN_EXCEEDED'}))
      return
    }
    if (this.#chunk.isFull(this.#limits, destination, this.#batchBytes(facts), outgoing.bytes)) {
      await this.#flush(writer, signal)
    }
    await this.#tokens(outgoing, writer, signal)
    const timestamp = outgoing.timestamp ?? BigInt(this.#deps.clock.now())
    this.#chunk.add(destination, entry, match.cursor, outgoing, timestamp)
  }

  /** Tokens for one record. When there are none the chunk goes out first: nothing waits inside a chunk. */
  async #tokens(outgoing: Outgoing, writer: ChunkWriter, signal: AbortSignal): Promise<void> {
    while (!this.#throttle.tryTake(outgoing.bytes)) {
      await this.#flush(writer, signal)
      const from = this.#deps.clock.monotonic()
      await this.#throttle.wait({signal})
      this.#state.throttledMs += this.#deps.clock.monotonic() - from
    }
  }

  #batchBytes(facts: TargetFacts | null): number {
    return Math.min(BATCH_BYTES, facts?.maxMessageBytes ?? BATCH_BYTES)
  }

  /** Send the chunk; one may be in flight while the next is filled. */
  async #flush(writer: ChunkWriter, signal: AbortSignal): Promise<void> {
    if (this.#chunk.records === 0) return
    await this.#inFlight.settle(signal)
    signal.throwIfAborted()
    const chunk = this.#chunk
    this.#chunk = new Chunk()
    this.#state.chunks++
    this.#inFlight.start(chunk, counted => this.#send(chunk, writer, counted))
  }

  async #send(chunk: Chunk, writer: ChunkWriter, counted: () => void): Promise<void> {
    const outcomes = await writer.write(chunk, {signal: this.#inFlight.gaveUp})
    if (this.#inFlight.gaveUp.aborted) return
    counted()
    const failedBefore = this.#state.failed
    const bytesPerRecord = chunk.bytes / Math.max(1, chunk.records)
    for (const outcome of outcomes) {
      this.#state.outcome(outcome)
      if (outcome.state === 'replayed') this.#state.bytesReplayed += bytesPerRecord
    }
    this.#progress()
    const [first] = outcomes
    if (first !== undefined && first.state !== 'replayed' && outcomes.every(isOutOfReach)) {
      throw new Stop('target-unreachable', first.error)
    }
    const {maxFailed} = this.#input
    if (maxFailed !== null && this.#state.failed > Math.max(maxFailed, failedBefore)) throw new Stop('max-failed')
  }

  /** Whatever happened, give the chunk in flight its time; when that is over, its records are `unknown`. */
  async #settleLast(): Promise<void> {
    const unsettled = await this.#inFlight.settleLast(this.#deps.clock)
    if (unsettled === null) return
    this.#settled = false
    for (const entry of unsettled.entries) this.#state.fail(entry, 'unknown', unsettled.error)
  }

  /** Closing must not outlast the deadline that a silent target already used up. */
  async #close(writer: ChunkWriter): Promise<void> {
    const closed = writer[Symbol.asyncDispose]()
    if (this.#settled) await closed
    else Promise.resolve(closed).catch(() => undefined)
  }

  async #stopAfter(ms: number | null, run: AbortController, timer: AbortSignal): Promise<void> {
    if (ms === null) return
    try {
      await this.#deps.clock.sleep(ms, {signal: timer})
      run.abort(new Stop('max-duration'))
    } catch {
      // The run ended first.
    }
  }

  #progress(): void {
    const {selected, replayed, failed} = this.#state.counts()
    this.#deps.onProgress?.({done: selected, total: this.#input.plan.counts.selected, replayed, failed})
  }

  #result(scan: RecordScan, stop: StopReason | null, durationMs: number): ReplayOutcome['result'] {
    const {plan, run} = this.#input
    const missing = Math.max(0, plan.counts.selected - this.#state.counts().selected)
    if (stop === null) this.#state.gone(missing)
    const {replayed} = this.#state
    return {
      run,
      plan,
      checks: plan.checks,
      counts: this.#state.counts(),
      targets: this.#state.targets(),
      failures: this.#state.failures,
      failuresOmitted: this.#state.failuresOmitted,
      metrics: {
        recordsReplayed: replayed,
        bytesReplayed: Math.round(this.#state.bytesReplayed),
        chunks: this.#state.chunks,
        throttledMs: Math.round(this.#state.throttledMs),
        recordsPerSecond: durationMs > 0 ? Math.round((replayed / durationMs) * 1e6) / 1e3 : 0,
      },
      stopped: stop === null ? null : {reason: stop, remaining: missing, settled: this.#settled},
      scanned: scan.scanned(),
      durationMs: Math.round(durationMs),
    }
  }
}

/** Nothing came back: neither an acknowledgement nor a refusal. */
function isOutOfReach(outcome: RecordOutcome): boolean {
  if (outcome.state === 'replayed') return false
  return (
    outcome.state === 'unknown' || outcome.error.code === 'E_NOT_WRITTEN' || outcome.error instanceof UnreachableError
  )
}

function reasonOf(error: unknown, outer: AbortSignal): StopReason {
  if (error instanceof Stop) return error.reason
  return outer.aborted ? 'signal' : 'error'
}

async function openIdempotent(target: Cluster, options: ProducerOptions): Promise<ChunkWriter> {
  return createIdempotentWriter(await target.writer.open(options))
}
