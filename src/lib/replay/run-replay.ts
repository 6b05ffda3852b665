import {setImmediate} from 'node:timers/promises'
import type {DeadLetter} from '../dead-letter/model.ts'
import type {MatchedRecord, RecordScan} from '../dead-letter/scan-records.ts'
import {RecordError} from '../errors.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import type {RecordCursor} from '../kafka/records/types.ts'
import {parseCheckDecisions} from './check-names.ts'
import {ChunkSender} from './chunk-sender.ts'
import type {ChunkEntry, ParkingReason} from './chunk.ts'
import {createConverters} from './converters.ts'
import type {Converters} from './converters.ts'
import type {Delivery} from './delivery.ts'
import {EarlierProcesses} from './earlier-processes.ts'
import {endDelivery, isFenced} from './end-delivery.ts'
import {decodeForFilters} from './filter-decoding.ts'
import type {Ask} from './filter-decoding.ts'
import {originOf} from './from-origin-letter.ts'
import {OriginWindow} from './from-origin-window.ts'
import {OriginReader} from './from-origin.ts'
import {dialectsUnder} from './header-policy.ts'
import {Judge, readTopics} from './judge.ts'
import {capReason, judgeByLedger} from './ledger-judge.ts'
import type {LedgerVerdict} from './ledger-judge.ts'
import {ledgerOrigin} from './ledger-outcomes.ts'
import {payloadSha256} from './ledger/checksum.ts'
import {NotedLetters} from './noted-letters.ts'
import {openDelivery} from './open-delivery.ts'
import {OffsetSet} from './offset-set.ts'
import {mergeByOrigin} from './order.ts'
import {capHeaders, parkedCopy} from './parked-copy.ts'
import {PlanBudget} from './plan-budget.ts'
import {decodersOf} from './plan-decoding.ts'
import type {PlanReading} from './plan-decoding.ts'
import {openScans} from './plan-scans.ts'
import {orAbort} from './race.ts'
import type {ReplayOutcome, StopReason} from './result.ts'
import {RunErrors} from './run-errors.ts'
import type {StageOutcome} from './run-errors.ts'
import type {RunDeps, RunInput} from './run-input.ts'
import {addMetrics, NO_METRICS} from './run-metrics.ts'
import {runResult} from './run-result.ts'
import {reasonOf, Stop} from './run-stop.ts'
import {RunState} from './run-state.ts'
import {targetTopic} from './target.ts'
import type {TargetFacts} from './target.ts'
import {verifyPlan} from './verify-plan.ts'

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
  decodersOf(input.plan, deps.decoders)
  await verifyPlan(deps, input.plan, {signal})
  const delivery = await openDelivery(deps, input, signal)
  return new Run(deps, input, delivery).execute(signal ?? new AbortController().signal)
}

/** What a run writes with. */
interface Out {
  readonly delivery: Delivery
  readonly sender: ChunkSender
}

/** A dead letter on its way out. */
interface Next {
  readonly entry: ChunkEntry
  readonly verdict: LedgerVerdict
  readonly cursor: RecordCursor | null
  readonly out: Out
}

class Run {
  readonly #deps: RunDeps
  readonly #input: RunInput
  readonly #state = new RunState()
  readonly #judge: Judge
  readonly #facts: ReadonlyMap<string, TargetFacts>
  readonly #include: OffsetSet | null
  readonly #exclude: OffsetSet
  /** At the cap: held, or parked. */
  readonly #capped: OffsetSet
  readonly #notes: NotedLetters
  readonly #errors: RunErrors
  readonly #budget: PlanBudget
  readonly #delivery: Delivery | null
  readonly #sender: ChunkSender | null
  readonly #earlier: EarlierProcesses
  readonly #reading: PlanReading | null
  /** Null = what goes out is not decoded. */
  readonly #converters: Converters | null
  readonly #window: OriginWindow<Next & {readonly signal: AbortSignal}> | null
  /** Records that were prepared without a pause. */
  #unbroken = 0
  #settled = true

  constructor(deps: RunDeps, input: RunInput, delivery: Delivery | null) {
    const {plan} = input
    this.#deps = deps
    this.#input = input
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
    this.#capped = OffsetSet.from(plan.source.held)
    this.#notes = new NotedLetters(delivery, this.#state)
    this.#errors = new RunErrors(deps, input)
    this.#reading = decodersOf(plan, deps.decoders)
    this.#converters = createConverters(this.#reading, {errors: this.#errors, skips: plan.skip.includes('schema')})
    this.#delivery = delivery
    this.#earlier = new EarlierProcesses(delivery, this.#state, {
      budget: this.#budget,
      resendUnknown: input.resendUnknown === true,
      parking: plan.parking?.topic ?? null,
    })
    const origins =
      plan.fromOrigin === undefined
        ? null
        : new OriginReader(deps, {readRate: input.readRate, expected: plan.fromOrigin.topics})
    this.#window =
      origins === null
        ? null
        : new OriginWindow(origins, (letter, next) => this.#prepare(letter, next, next.signal), {
            dialects: dialectsUnder(plan.headers),
          })
    this.#sender =
      delivery === null
        ? null
        : new ChunkSender({...deps, state: this.#state, errors: this.#errors}, delivery.writer, input)
  }

  async execute(outer: AbortSignal): Promise<ReplayOutcome> {
    const {clock} = this.#deps
    const {plan, maxDurationMs, readRate} = this.#input
    const started = clock.monotonic()
    const inner = new AbortController()
    const signal = AbortSignal.any([outer, inner.signal])
    const timer = new AbortController()
    const timeUp = this.#stopAfter(maxDurationMs, inner, timer.signal)
    const ask: Ask = async operation => this.#errors.ask(operation, signal)
    const decoding = this.#reading === null ? null : decodeForFilters(plan.source.filters, this.#reading.decoders, ask)
    const scans = await openScans(this.#deps.source, plan, {signal, readRate}, decoding)
    let stop: StopReason | null = null
    let error: unknown = null
    try {
      if (this.#delivery === null || this.#sender === null) await this.#skipAll(scans)
      else await this.#write(scans, {delivery: this.#delivery, sender: this.#sender}, signal)
    } catch (caught) {
      stop = reasonOf(caught, outer)
      error = caught instanceof Stop ? caught.cause : caught
    } finally {
      timer.abort()
      await timeUp
    }
    const metrics = addMetrics(this.#input.earlierMetrics ?? NO_METRICS, this.#errors.metrics)
    const end = {stop, settled: this.#settled, durationMs: clock.monotonic() - started, metrics, scans}
    const result = runResult(this.#input, this.#state, end)
    if (this.#delivery === null) return {result, error}
    const ended = await endDelivery(this.#deps.clock, this.#delivery, {result, error, settled: this.#settled}, outer)
    return {result, error: error ?? ended}
  }

  async #write(scans: readonly RecordScan[], out: Out, signal: AbortSignal): Promise<void> {
    try {
      if (this.#input.plan.order === 'origin') {
        const accepts = (match: MatchedRecord): boolean => this.#isOpen(match)
        const merged = mergeByOrigin(scans, {accepts, onDisorder: () => void this.#state.disorder++})
        for await (const letter of merged) await this.#take(letter, null, out, signal)
      } else {
        for (const scan of scans) {
          for await (const scanned of scan) {
            for (const match of scanned.matches()) {
              if (this.#isOpen(match)) await this.#take(match.deadLetter(), match.cursor, out, signal)
            }
          }
        }
      }
      await this.#window?.flush({signal})
      await out.sender.flush(signal)
      await out.sender.settle(signal)
      await this.#earlier.settle(signal)
      await this.#notes.settle(signal)
    } finally {
      await this.#settleLast(out.sender)
      // Whatever is still being tried again ends with the run.
      this.#errors.stop()
    }
  }

  /** A plan whose every record is left out: count them, open no producer. */
  async #skipAll(scans: readonly RecordScan[]): Promise<void> {
    for (const scan of scans) {
      for await (const scanned of scan) {
        for (const {topic, partition, cursor} of scanned.matches()) {
          if (this.#include?.has(topic, partition, cursor.offset) === false) continue
          if (this.#capped.has(topic, partition, cursor.offset)) this.#state.hold()
          else this.#state.skip()
        }
      }
    }
  }

  /** By its address alone; what is left out is counted here. */
  #isOpen({topic, partition, cursor: {offset}}: MatchedRecord): boolean {
    if (this.#include?.has(topic, partition, offset) === false) return false
    if (this.#earlier.did(topic, partition, offset)) return false
    if (this.#capped.has(topic, partition, offset)) {
      // Parking needs the record, a ledger its key and value.
      if (this.#input.plan.parking !== null || this.#notes.hasLedger) return true
      this.#state.hold()
      return false
    }
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
  async #take(letter: DeadLetter, cursor: RecordCursor | null, out: Out, signal: AbortSignal): Promise<void> {
    const {delivery, sender} = out
    await this.#breathe(sender)
    const {record, failure} = letter
    const {plan} = this.#input
    const verdict = judgeByLedger(delivery.view, letter, plan)
    const isCapped = this.#capped.has(record.topic, record.partition, record.offset)
    const entry: ChunkEntry = {
      topic: record.topic,
      partition: record.partition,
      offset: record.offset,
      attempt: isCapped ? verdict.attempts : verdict.attempts + 1,
      origin: ledgerOrigin(failure),
      sha256: delivery.view === null ? NO_CHECKSUM : payloadSha256(record.key, record.value),
      ...this.#errors.keep(record),
    }
    if (await this.#earlier.resolve(entry, isCapped, signal)) return
    if (isCapped) {
      await this.#atCap(entry, record, sender, signal)
      return
    }
    if (!delivery.resolutions.has(letter.address) && this.#isDecided(letter, verdict)) return
    const next = {entry, verdict, cursor, out}
    if (this.#window === null) await this.#prepare(letter, next, signal)
    else await this.#window.add(letter, {...next, cursor: null, signal}, {signal})
  }

  /** From what the dead letter (or its origin) holds to a record in the chunk. */
  async #prepare(letter: DeadLetter, next: Next, signal: AbortSignal): Promise<void> {
    const {
      entry,
      verdict,
      cursor,
      out: {sender},
    } = next
    const {plan} = this.#input
    const topic = targetTopic(plan.target, letter.failure)
    const facts = topic === null ? null : (this.#facts.get(topic) ?? null)
    const transformed = this.#errors.transform(entry, () => this.#judge.prepare(letter, verdict))
    const prepared = this.#after(transformed, next, signal)
    const outgoing = prepared instanceof Promise ? await prepared : prepared
    if (outgoing === null) return
    let unreadable: string | null = null
    if (this.#converters !== null) {
      const converted = this.#after(this.#converters.read(entry, outgoing), next, signal)
      const reading = converted instanceof Promise ? await converted : converted
      if (reading === null) return
      unreadable = reading.problem
    }
    const judgement = this.#judge.judge(letter, outgoing, facts, verdict, unreadable)
    if (judgement.fate !== 'send') {
      const origin = originOf(letter)
      if (judgement.fate === 'skip') this.#state.skip()
      else if (origin?.state === 'gone') this.#state.lost(entry, origin.reason)
      else this.#state.fail(entry, 'failed', new RecordError('refused by a check', {code: 'E_CHECKS_REFUSED'}))
      return
    }
    const {destination} = judgement
    if (!this.#budget.take(destination)) {
      this.#state.fail(entry, 'failed', new RecordError('the plan does not show this write', {code: 'E_PLAN_EXCEEDED'}))
      return
    }
    await sender.add(destination, entry, {cursor, outgoing, facts}, signal)
  }

  /** What a stage gave; null = it failed, and that was dealt with. Only asking and retries wait, with nothing collected. */
  #after<V>(
    outcome: StageOutcome<V> | Promise<StageOutcome<V>>,
    {entry, out: {sender}}: Next,
    signal: AbortSignal,
  ): V | null | Promise<V | null> {
    if (outcome instanceof Promise) return this.#retried(outcome, entry, sender, signal)
    return outcome.kind === 'done' ? outcome.value : this.#notReady(outcome, entry, sender, signal)
  }

  async #retried<V>(
    pending: Promise<StageOutcome<V>>,
    entry: ChunkEntry,
    sender: ChunkSender,
    signal: AbortSignal,
  ): Promise<V | null> {
    // Owned below, behind what was collected so far.
    pending.catch(() => undefined)
    await sender.flush(signal)
    const outcome = await orAbort(pending, signal)
    return outcome.kind === 'done' ? outcome.value : this.#notReady(outcome, entry, sender, signal)
  }

  async #notReady(
    {error, copy, exceeded}: Extract<StageOutcome<unknown>, {readonly kind: 'failed'}>,
    entry: ChunkEntry,
    sender: ChunkSender,
    signal: AbortSignal,
  ): Promise<null> {
    if (copy !== null) await sender.park(copy, signal)
    else if (this.#notes.fail(entry, error)) await this.#settleNotes(sender, signal)
    if (!exceeded) return null
    await sender.flush(signal)
    await this.#settleNotes(sender, signal)
    throw new Stop('errors-tolerance')
  }

  /** Replayed too often. */
  async #atCap(entry: ChunkEntry, record: KafkaRecord, sender: ChunkSender, signal: AbortSignal): Promise<void> {
    const {plan, run} = this.#input
    if (plan.parking === null) {
      if (this.#notes.hold(entry)) await this.#settleNotes(sender, signal)
      return
    }
    const message = capReason(entry.attempt)
    const reason: ParkingReason = {byPolicy: true, code: 'E_ATTEMPT_CAP', message}
    const letter = {...record, headers: capHeaders(record, run, message)}
    const nowMs = BigInt(this.#deps.clock.now())
    await sender.park(parkedCopy(plan.parking, entry, letter, {reason, nowMs}), signal)
  }

  /** One transaction at a time. */
  async #settleNotes(sender: ChunkSender, signal: AbortSignal): Promise<void> {
    await sender.settle(signal)
    await this.#notes.settle(signal)
  }

  /** Let answers in: while the next chunk is filled, the transaction of this one must not stay open for it. */
  async #breathe(sender: ChunkSender): Promise<void> {
    if (sender.isIdle || ++this.#unbroken < RECORDS_A_BREATH) return
    this.#unbroken = 0
    await setImmediate()
  }

  /** Whatever happened, give the chunk in flight its time; when that is over, its records are `unknown`. */
  async #settleLast(sender: ChunkSender): Promise<void> {
    const unsettled = await sender.settleLast()
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
}
