import {createDeadLetter} from '../dead-letter/dead-letter.ts'
import type {DeadLetter} from '../dead-letter/model.ts'
import {scanRecords} from '../dead-letter/scan-records.ts'
import {formatAddress, isLegalTopicName} from '../kafka/record.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {compileFilters} from '../select/compile.ts'
import {parseCheckDecisions} from './check-names.ts'
import type {CheckDecisions} from './check-names.ts'
import type {Fate} from './check-tally.ts'
import {decodeForFilters} from './filter-decoding.ts'
import {dialectsUnder} from './header-policy.ts'
import {OriginWindow} from './from-origin-window.ts'
import {OriginReader} from './from-origin.ts'
import {Judge, readTopics} from './judge.ts'
import {judgeByLedger} from './ledger-judge.ts'
import type {LedgerVerdict} from './ledger-judge.ts'
import {OffsetSet} from './offset-set.ts'
import {OriginTable, payloadChecksum} from './origins.ts'
import type {Outgoing} from './outgoing.ts'
import {DEFAULT_ERRORS, PLAN_VERSION} from './plan.ts'
import type {PlanRange, ReplayPlan} from './plan.ts'
import type {LedgerFinding, PlanDeps, PlanInput, PlannedReplay} from './plan-input.ts'
import {parkingSizeText} from './parked-copy.ts'
import {decodersOf, toPlanDecode, whyUnreadable} from './plan-decoding.ts'
import type {PlanReading} from './plan-decoding.ts'
import {lookAtParking} from './plan-parking.ts'
import {cutRanges, rangeKey, toPlanRange} from './plan-selection.ts'
import {PlanTotals} from './plan-totals.ts'
import type {PlanFate} from './plan-totals.ts'
import {selectTail} from './tail.ts'
import {singleBatchBytes} from './record-size.ts'
import {targetTopic} from './target.ts'
import type {TargetFacts} from './target.ts'
import {TargetTopics} from './target-topics.ts'
import {UnsettledLetters} from './unsettled-letters.ts'

/** Has the length of a run id; the real one is made when the plan is executed. */
const RUN_PLACEHOLDER = `r-${'0'.repeat(26)}`
const PROGRESS_EVERY = 1000

/**
 * Read the selected dead letters once and say what replaying them would do. Writes nothing. Memory: what the selection's
 * `tail` keeps, and at most 2,000,000 origins to find repeated ones.
 * @throws UsageError for unknown checks, RefusedError for more than 1000 target topics, the signal's reason
 */
export async function planReplay(
  deps: PlanDeps,
  input: PlanInput,
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<PlannedReplay> {
  return new Planner(deps, input).plan(options)
}

/** A dead letter whose origin has to be fetched first. */
interface Next {
  readonly verdict: LedgerVerdict
  readonly options: {readonly signal?: AbortSignal | undefined}
}

class Planner {
  readonly #deps: PlanDeps
  readonly #input: PlanInput
  readonly #decisions: CheckDecisions
  #judge: Judge
  #parking: TargetFacts | null = null
  readonly #topics: TargetTopics
  readonly #origins = new OriginTable()
  readonly #exclude: OffsetSet
  readonly #held = OffsetSet.from([])
  readonly #totals = new PlanTotals()
  readonly #nowMs: bigint
  readonly #blind = new Set<string>()
  readonly #unsettled = new UnsettledLetters()
  readonly #reading: PlanReading | null
  readonly #originReader: OriginReader | null
  readonly #window: OriginWindow<Next> | null

  constructor(deps: PlanDeps, input: PlanInput) {
    this.#deps = deps
    this.#input = input
    this.#decisions = parseCheckDecisions(input.allow, input.skip)
    this.#topics = new TargetTopics(deps.target)
    this.#exclude = OffsetSet.from(input.exclude ?? [])
    this.#nowMs = BigInt(deps.clock.now())
    this.#reading = decodersOf(input, deps.decoders)
    this.#originReader = input.fromOrigin === true ? new OriginReader(deps, {readRate: input.readRate}) : null
    this.#window =
      this.#originReader === null
        ? null
        : new OriginWindow(this.#originReader, (letter, next) => this.#decide(letter, next.verdict, next.options), {
            dialects: dialectsUnder(input.headers),
          })
    this.#judge = this.#newJudge()
  }

  #newJudge(): Judge {
    return new Judge({
      ...this.#input,
      decisions: this.#decisions,
      run: RUN_PLACEHOLDER,
      nowMs: this.#nowMs,
      readTopics: readTopics(this.#deps, this.#input.selection.ranges),
      parking: this.#parking,
    })
  }

  async plan(options: {readonly signal?: AbortSignal | undefined}): Promise<PlannedReplay> {
    await this.#lookAtParking(options)
    for (const finding of this.#deps.ledgerFindings ?? []) this.#find(finding)
    const {selection, readRate} = this.#input
    const {source} = this.#deps
    const dialects = dialectsUnder(this.#input.headers)
    const decoding = this.#reading === null ? null : decodeForFilters(selection.filters, this.#reading.decoders)
    const filters = await compileFilters(selection.filters, {dialects, decode: decoding?.decode ?? null})
    const create = (record: KafkaRecord): DeadLetter => createDeadLetter(record, dialects)
    const read = {...options, readRate, createDeadLetter: create, prepare: decoding?.prepare}
    const {tail} = selection
    const include = tail === null ? null : await selectTail(source, selection, filters, tail, read)
    const scan = scanRecords(source, {...selection, tail: null}, filters, read)
    const selected = new Map<string, number>()
    let last: {readonly range: string; readonly offset: bigint} | null = null
    for await (const scanned of scan) {
      const range = rangeKey(scanned.block)
      for (const match of scanned.matches()) {
        if (include !== null && !include.has(match.topic, match.partition, match.cursor.offset)) continue
        last = {range, offset: match.cursor.offset}
        await this.#see(match.deadLetter(), options)
        selected.set(range, (selected.get(range) ?? 0) + 1)
        if (this.#totals.selected % PROGRESS_EVERY === 0) this.#deps.onProgress?.(this.#totals.selected)
      }
    }
    await this.#window?.flush(options)
    const ranges = selection.ranges.map(range => toPlanRange(range, selected.get(rangeKey(range)) ?? 0))
    const full = selection.limit !== null && this.#totals.selected >= selection.limit
    return {
      plan: this.#toPlan(full && last !== null ? cutRanges(ranges, last) : ranges, include),
      scanned: scan.scanned(),
    }
  }

  async #see(letter: DeadLetter, options: {readonly signal?: AbortSignal | undefined}): Promise<void> {
    const {record} = letter
    this.#totals.select(letter.fingerprint)
    if (this.#exclude.has(record.topic, record.partition, record.offset)) {
      this.#totals.add('skip')
      return
    }
    const verdict = judgeByLedger(this.#deps.ledger ?? null, letter, this.#input)
    const known = this.#known(letter, verdict)
    if (known !== null) {
      this.#totals.add(known)
      return
    }
    if (this.#window === null) await this.#decide(letter, verdict, options)
    else await this.#window.add(letter, {verdict, options}, options)
  }

  /** Destination and checks of a dead letter that is neither left out nor held. */
  async #decide(
    letter: DeadLetter,
    verdict: LedgerVerdict,
    options: {readonly signal?: AbortSignal | undefined},
  ): Promise<void> {
    const facts = await this.#facts(targetTopic(this.#input.target, letter.failure), options)
    const prepared = this.#judge.prepare(letter, verdict)
    const onUnknown = (reason: string): void => this.#judge.tally.unknown('schema', reason)
    const unreadable = this.#reading === null ? null : await whyUnreadable(this.#reading, prepared, onUnknown)
    const judgement = this.#judge.judge(letter, prepared, facts, verdict, unreadable)
    if (judgement.fate !== 'send') {
      this.#totals.add(judgement.fate)
      return
    }
    const {destination, outgoing} = judgement
    const repeated = this.#repeated(letter, destination, outgoing)
    this.#totals.add(repeated, destination, outgoing.bytes)
    if (repeated === 'send') this.#totals.sample(letter, destination, outgoing)
  }

  /** Before the dead letters: whether their copies fit is a check of each. */
  async #lookAtParking(options: {readonly signal?: AbortSignal | undefined}): Promise<void> {
    const {parkingTopic = null, selection, ledger} = this.#input
    if (parkingTopic === null) return
    const {target} = this.#deps
    const rules = {readTopics: readTopics(this.#deps, selection.ranges), ledger}
    const {facts, problem, warning} = await lookAtParking(target, parkingTopic, rules, options)
    this.#parking = facts
    this.#judge = this.#newJudge()
    const {tally} = this.#judge
    if (problem !== null) tally.note('parking', parkingTopic, problem, true)
    if (warning !== null) tally.note('parking-copy', parkingTopic, warning, false)
    if (facts.configError !== null) tally.unknown('parking-copy', `${parkingTopic}: ${facts.configError}`)
  }

  /** A finding stops the run unless its check is allowed. */
  #find({check, address, detail, unknown}: LedgerFinding): void {
    if (unknown === true) this.#judge.tally.unknown(check, detail)
    else this.#judge.tally.note(check, address, detail, !this.#decisions.allow.has(check))
  }

  /** What the ledger alone decides about a dead letter; null = nothing. */
  #known({record, address}: DeadLetter, {kind, fact, attempts, copyOf}: LedgerVerdict): PlanFate | null {
    const {allow, skip} = this.#decisions
    if (kind === 'not-handled') return 'skip'
    if (kind === 'handled' && fact !== null) {
      this.#judge.tally.note('handled', address, `${fact.state} by ${fact.run}`, false)
      if (!allow.has('handled')) {
        if (fact.state === 'sending') this.#unsettled.add(address, fact.run)
        return 'skip'
      }
    }
    if (copyOf !== null) {
      const isAllowed = allow.has('duplicate-origin')
      const refuses = copyOf.differs && !isAllowed && !skip.has('duplicate-origin')
      const what = copyOf.differs ? ', with another key or value' : ''
      this.#judge.tally.note(
        'duplicate-origin',
        address,
        `the same origin as ${copyOf.address}, replayed by ${copyOf.run}${what}`,
        refuses,
      )
      if (refuses) return 'refuse'
      if (!isAllowed) {
        this.#exclude.add(record.topic, record.partition, record.offset)
        return 'skip'
      }
    }
    if (attempts < this.#input.maxAttempts) return null
    this.#judge.tally.note('attempt-cap', address, `replayed ${attempts} times`, false)
    if (allow.has('attempt-cap')) return null
    this.#held.add(record.topic, record.partition, record.offset)
    if (this.#parking === null) return 'hold'
    const size = parkingSizeText(this.#parking, () => singleBatchBytes(record))
    if (size !== null) this.#judge.tally.note('parking-copy', address, size, false)
    return 'park'
  }

  /** Null for a name that no topic can have. */
  async #facts(
    topic: string | null,
    options: {readonly signal?: AbortSignal | undefined},
  ): Promise<TargetFacts | null> {
    if (topic === null || !isLegalTopicName(topic)) return null
    const facts = this.#topics.peek(topic) ?? (await this.#topics.load(topic, options))
    if (!this.#blind.has(topic)) {
      this.#blind.add(topic)
      this.#judge.tally.facts(facts)
    }
    return facts
  }

  /** Look for other copies of the same original; takes an older one out of the totals when this one replaces it. */
  #repeated(
    letter: DeadLetter,
    destination: {readonly topic: string; readonly partition: number},
    outgoing: Outgoing,
  ): Fate {
    const {record, failure} = letter
    const {topic, partition, offset} = failure.origin ?? {}
    if (topic === undefined || partition === undefined || offset === undefined) return 'send'
    const verdict = this.#origins.add({
      origin: {topic, partition, offset: BigInt(offset)},
      checksum: payloadChecksum(record),
      timestamp: record.timestamp ?? -1n,
      source: {topic: record.topic, partition: record.partition, offset: record.offset},
      targetPartition: destination.partition,
      targetBytes: outgoing.bytes,
    })
    if (verdict.kind === 'first') return 'send'
    if (verdict.kind === 'full') {
      this.#judge.tally.unknown('duplicate-origin', `only the first ${this.#origins.limit} origins were compared`)
      return 'send'
    }
    const allowed = this.#decisions.allow.has('duplicate-origin')
    const refuses = verdict.differs && !allowed && !this.#decisions.skip.has('duplicate-origin')
    const what = verdict.differs ? 'again, with another key or value' : 'again'
    this.#judge.tally.note(
      'duplicate-origin',
      letter.address,
      `origin ${topic}:${partition}:${offset} ${what}`,
      refuses,
    )
    if (refuses) return 'refuse'
    if (allowed) return 'send'
    const {source, targetPartition, targetBytes} = verdict.older
    this.#exclude.add(source.topic, source.partition, source.offset)
    if (source.offset === record.offset && source.partition === record.partition && source.topic === record.topic) {
      return 'skip'
    }
    this.#totals.replace({topic: destination.topic, partition: targetPartition}, targetBytes, formatAddress(source))
    return 'send'
  }

  #toPlan(ranges: readonly PlanRange[], include: OffsetSet | null): ReplayPlan {
    const {input, deps} = {input: this.#input, deps: this.#deps}
    const {selection} = input
    const parking = this.#parking
    if (parking !== null && this.#totals.sendsTo(parking.topic)) {
      this.#judge.tally.note('parking', parking.topic, 'is a target of this run', true)
    }
    return {
      planVersion: PLAN_VERSION,
      createdAt: String(this.#nowMs),
      source: {
        ...deps.source.description,
        isolationLevel: selection.isolationLevel,
        ranges,
        filters: selection.filters,
        include: include === null ? null : include.toJSON(),
        exclude: this.#exclude.toJSON(),
        held: this.#held.toJSON(),
      },
      target: {...deps.target.description, ...input.target, topics: this.#topics.all()},
      headers: input.headers,
      timestamp: input.timestamp,
      order: input.order,
      delivery: input.delivery,
      ledger: input.ledger,
      handled: input.handled,
      ...(input.resendUnknown === true ? {resendUnknown: true as const} : {}),
      ...(this.#originReader === null ? {} : {fromOrigin: {topics: this.#originReader.topics()}}),
      ...(this.#reading === null ? {} : {decode: toPlanDecode(this.#reading)}),
      maxAttempts: input.maxAttempts,
      errors: input.errors ?? DEFAULT_ERRORS,
      parking,
      rate: input.rate,
      bytesRate: input.bytesRate,
      compression: input.compression,
      allow: input.allow,
      skip: input.skip,
      checks: this.#judge.tally.results().map(check => this.#unsettled.tell(check)),
      ...this.#totals.toPlan(),
    }
  }
}
