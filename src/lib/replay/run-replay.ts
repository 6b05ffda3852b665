import {setImmediate} from 'node:timers/promises'
import type {DeadLetter} from '../dead-letter/model.ts'
import type {MatchedRecord, RecordScan} from '../dead-letter/scan-records.ts'
import {RecordError} from '../errors.ts'
import type {RecordCursor} from '../kafka/records/types.ts'
import {parseCheckDecisions} from './check-names.ts'
import {Chunk} from './chunk.ts'
import type {ChunkEntry, ChunkLimits} from './chunk.ts'
import type {Delivery} from './delivery.ts'
import {EarlierProcesses} from './earlier-processes.ts'
import {endDelivery, isFenced} from './end-delivery.ts'
import {HeldLetters} from './held-letters.ts'
import {InFlight} from './in-flight.ts'
import {Judge, readTopics} from './judge.ts'
import {judgeByLedger} from './ledger-judge.ts'
import type {LedgerVerdict} from './ledger-judge.ts'
import {ledgerOrigin} from './ledger-outcomes.ts'
import {payloadSha256} from './ledger/checksum.ts'
import {openDelivery} from './open-delivery.ts'
import {OffsetSet} from './offset-set.ts'
import {mergeByOrigin} from './order.ts'
import type {Outgoing} from './outgoing.ts'
import {PlanBudget} from './plan-budget.ts'
import {openScans, scannedOf} from './plan-scans.ts'
import type {ReplayOutcome, StopReason} from './result.ts'
import type {RunDeps, RunInput} from './run-input.ts'
import {isOutOfReach, reasonOf, Stop, targetUnreachable} from './run-stop.ts'
import {RunState} from './run-state.ts'
import {targetTopic} from './target.ts'
import type {TargetFacts} from './target.ts'
import {Throttle} from './throttle.ts'
import {verifyPlan} from './verify-plan.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** Chunks when no rate bounds them; also the memory that a run needs at most, about three times. */
const CHUNK_LIMITS: ChunkLimits = {maxRecords: 20_000, maxBytes: 16 * 1024 * 1024}
/** Batches are at most this large before compression, or as large as their one record. */
const BATCH_BYTES = 1024 * 1024 - 4096

/** Records that are prepared in a few milliseconds. */
const RECORDS_A_BREATH = 100
const NO_CHECKSUM = Buffer.alloc(32)

/**
 * Execute a plan: read its ranges again, write chunk by chunk, count by acknowledgements.
 *
 * An abort stops reading, waits at most 1.2 s for the chunk in flight, and returns what is known; nothing that happens
 * after the first write throws.
 * @throws RefusedError when the plan no longer fits its clusters or refuses itself, or another run holds its partitions; what
 *   opening the delivery throws (before anything is sent)
 */
export async function runReplay(
  deps: RunDeps,
  input: RunInput,
  {signal}: {readonly signal?: AbortSignal | undefined} = {},
): Promise<ReplayOutcome> {
  await verifyPlan(deps, input.plan, {signal})
  const delivery = await openDelivery(deps, input, signal)
  return new Run(deps, input, delivery).execute(signal ?? new AbortController().signal)
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
  readonly #heldLetters: HeldLetters
  readonly #budget: PlanBudget
  readonly #delivery: Delivery | null
  readonly #earlier: EarlierProcesses
  #chunk = new Chunk()
  /** Records that were prepared without a pause. */
  #unbroken = 0
  readonly #inFlight = new InFlight()
  #settled = true

  constructor(deps: RunDeps, input: RunInput, delivery: Delivery | null) {
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
    this.#heldLetters = new HeldLetters(OffsetSet.from(plan.source.held), delivery, this.#state)
    this.#delivery = delivery
    this.#earlier = new EarlierProcesses(delivery, this.#state, this.#budget, input.resendUnknown === true)
  }

  async execute(outer: AbortSignal): Promise<ReplayOutcome> {
    const {clock} = this.#deps
    const {plan, maxDurationMs, readRate} = this.#input
    const started = clock.monotonic()
    const inner = new AbortController()
    const signal = AbortSignal.any([outer, inner.signal])
    const timer = new AbortController()
    const timeUp = this.#stopAfter(maxDurationMs, inner, timer.signal)
    const scans = await openScans(this.#deps.source, plan, {signal, readRate})
    let stop: StopReason | null = null
    let error: unknown = null
    try {
      if (this.#delivery === null) await this.#skipAll(scans)
      else await this.#write(scans, this.#delivery, signal)
    } catch (caught) {
      stop = reasonOf(caught, outer)
      error = caught instanceof Stop ? caught.cause : caught
    } finally {
      timer.abort()
      await timeUp
    }
    const result = this.#result(scans, stop, clock.monotonic() - started)
    if (this.#delivery === null) return {result, error}
    const ended = await endDelivery(this.#deps.clock, this.#delivery, {result, error, settled: this.#settled}, outer)
    return {result, error: error ?? ended}
  }

  async #write(scans: readonly RecordScan[], delivery: Delivery, signal: AbortSignal): Promise<void> {
    try {
      if (this.#input.plan.order === 'origin') {
        const accepts = (match: MatchedRecord): boolean => this.#isOpen(match)
        const merged = mergeByOrigin(scans, {accepts, onDisorder: () => void this.#state.disorder++})
        for await (const letter of merged) await this.#take(letter, null, delivery, signal)
      } else {
        for (const scan of scans) {
          for await (const scanned of scan) {
            for (const match of scanned.matches()) {
              if (this.#isOpen(match)) await this.#take(match.deadLetter(), match.cursor, delivery, signal)
            }
          }
        }
      }
      await this.#flush(delivery.writer, signal)
      await this.#inFlight.settle(signal)
      await this.#earlier.settle(signal)
      await this.#heldLetters.settle(signal)
    } finally {
      await this.#settleLast()
    }
  }

  /** A plan whose every record is left out: count them, open no producer. */
  async #skipAll(scans: readonly RecordScan[]): Promise<void> {
    for (const scan of scans) {
      for await (const scanned of scan) {
        for (const {topic, partition, cursor} of scanned.matches()) {
          if (this.#include?.has(topic, partition, cursor.offset) === false) continue
          if (this.#heldLetters.has(topic, partition, cursor.offset)) this.#state.hold()
          else this.#state.skip()
        }
      }
    }
  }

  /** By its address alone; what is left out is counted here. */
  #isOpen({topic, partition, cursor: {offset}}: MatchedRecord): boolean {
    if (this.#include?.has(topic, partition, offset) === false) return false
    if (this.#earlier.did(topic, partition, offset)) return false
    if (this.#heldLetters.has(topic, partition, offset)) return !this.#heldLetters.count()
    if (this.#exclude.has(topic, partition, offset)) this.#state.skip()
    else return true
    return false
  }

  /** What the ledger has learned since the plan was made. True = it was counted. */
  #isDecided(letter: DeadLetter, verdict: LedgerVerdict): boolean {
    const {allow, handled} = this.#input.plan
    const skips =
      verdict.kind === 'not-handled' ||
      (verdict.kind === 'handled' && handled === 'hide' && !allow.includes('handled')) ||
      (verdict.kind === 'copy' && !allow.includes('duplicate-origin'))
    if (skips) this.#state.skip()
    return skips
  }

  /** One dead letter: out, or into the chunk. Waits only while the chunk is empty. */
  async #take(letter: DeadLetter, cursor: RecordCursor | null, delivery: Delivery, signal: AbortSignal): Promise<void> {
    await this.#breathe()
    const {record, failure} = letter
    const {plan} = this.#input
    const verdict = judgeByLedger(delivery.view, letter, plan)
    const entry: ChunkEntry = {
      topic: record.topic,
      partition: record.partition,
      offset: record.offset,
      attempt: verdict.attempts + 1,
      origin: ledgerOrigin(failure),
      sha256: delivery.view === null ? NO_CHECKSUM : payloadSha256(record.key, record.value),
    }
    if (this.#heldLetters.has(record.topic, record.partition, record.offset)) {
      if (!this.#heldLetters.hold({...entry, attempt: verdict.attempts})) return
      // One transaction at a time.
      await this.#inFlight.settle(signal)
      await this.#heldLetters.settle(signal)
      return
    }
    if (await this.#earlier.resolve(entry, signal)) return
    if (!delivery.resolutions.has(letter.address) && this.#isDecided(letter, verdict)) return
    const topic = targetTopic(plan.target, failure)
    const facts = topic === null ? null : (this.#facts.get(topic) ?? null)
    const judgement = this.#judge.judge(letter, facts, verdict)
    if (judgement.fate !== 'send') {
      if (judgement.fate === 'skip') this.#state.skip()
      else this.#state.fail(entry, 'failed', new RecordError('refused by a check', {code: 'E_CHECKS_REFUSED'}))
      return
    }
    const {destination, outgoing} = judgement
    const {writer} = delivery
    if (!this.#budget.take(destination)) {
      this.#state.fail(entry, 'failed', new RecordError('the plan does not show this write', {code: 'E_PLAN_EXCEEDED'}))
      return
    }
    if (this.#chunk.isFull(this.#limits, destination, this.#batchBytes(facts), outgoing.bytes)) {
      await this.#flush(writer, signal)
    }
    await this.#tokens(outgoing, writer, signal)
    const timestamp = outgoing.timestamp ?? BigInt(this.#deps.clock.now())
    this.#chunk.add(destination, entry, cursor, outgoing, timestamp)
  }

  /** Let answers in: while the next chunk is filled, the transaction of this one must not stay open for it. */
  async #breathe(): Promise<void> {
    if (this.#inFlight.isEmpty || ++this.#unbroken < RECORDS_A_BREATH) return
    this.#unbroken = 0
    await setImmediate()
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
      throw new Stop('target-unreachable', targetUnreachable(first.error))
    }
    const {maxFailed} = this.#input
    if (maxFailed !== null && this.#state.failed > Math.max(maxFailed, failedBefore)) throw new Stop('max-failed')
  }

  /** Whatever happened, give the chunk in flight its time; when that is over, its records are `unknown`. */
  async #settleLast(): Promise<void> {
    const unsettled = await this.#inFlight.settleLast(this.#deps.clock)
    if (unsettled === null) return
    // Whoever has the run now decides about this chunk: for this process it was not reached.
    if (isFenced(unsettled.error)) return
    this.#settled = false
    for (const entry of unsettled.entries) this.#state.fail(entry, 'unknown', unsettled.error)
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

  #result(scans: readonly RecordScan[], stop: StopReason | null, durationMs: number): ReplayOutcome['result'] {
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
        disorder: this.#state.disorder,
        replayedBefore: this.#state.before,
        recordsPerSecond: durationMs > 0 ? Math.round((replayed / durationMs) * 1e6) / 1e3 : 0,
      },
      stopped: stop === null ? null : {reason: stop, remaining: missing, settled: this.#settled},
      scanned: scannedOf(scans),
      durationMs: Math.round(durationMs),
    }
  }
}
