import type {ReadRequest, RecordBlock} from '../ports.ts'
import {protocolError} from '../protocol/errors.ts'
import {fetchApi} from '../protocol/generated/fetch.ts'
import type {NodeId} from '../protocol/types.ts'
import {BlockQueue} from './block-queue.ts'
import {fetchPartitions} from './fetch-request.ts'
import type {ReadDeps} from './fetch-tuning.ts'
import {Leaders} from './leaders.ts'
import {PartitionRead} from './partition-read.ts'
import {ReadOutcomes} from './read-outcomes.ts'
import {ReadRate} from './read-rate.ts'
import {backoffMs, CODE, failureOf} from './retry.ts'
import {Wakeup} from './wakeup.ts'

/** The one metadata request at a time; `rounds` = in a row without a leader for everybody. Times are monotonic ms. */
interface LeaderSearch {
  running: boolean
  rounds: number
  failingSince: number | null
  notBefore: number
}

/**
 * One group-less read: keeps several requests in flight to each broker, each for other partitions. A partition is asked
 * for again as soon as the batch headers of its answer are read, while the consumer still works on the block.
 */
export class FetchSession {
  readonly #deps: ReadDeps
  readonly #request: ReadRequest
  readonly #leaders: Leaders
  readonly #rate: ReadRate
  readonly #reads: readonly PartitionRead[]
  readonly #queue: BlockQueue
  readonly #outcomes: ReadOutcomes
  readonly #inFlight = new Map<NodeId, number>()
  readonly #nodeNotBefore = new Map<NodeId, number>()
  readonly #tasks = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  readonly #timer: Wakeup
  #notify: (() => void) | null = null
  #error: {readonly cause: unknown} | null = null
  readonly #search: LeaderSearch = {running: false, rounds: 0, failingSince: null, notBefore: 0}
  #reserved = 0

  constructor(deps: ReadDeps, request: ReadRequest) {
    this.#deps = deps
    this.#request = request
    this.#leaders = new Leaders(deps.transport)
    this.#leaders.add(request.ranges.map(({topic}) => topic))
    this.#rate = new ReadRate(deps.clock, request.readRate ?? null)
    this.#timer = new Wakeup(deps.clock, () => this.#pump())
    this.#reads = request.ranges.map(range => new PartitionRead(range))
    this.#queue = new BlockQueue(request.order, this.#reads)
    this.#outcomes = new ReadOutcomes(deps, request, this.#leaders, this.#queue)
    for (const read of this.#reads) if (read.ended) this.#outcomes.finish(read)
  }

  /**
   * The next block; the bytes of the one before may be reused from now on.
   * @returns null when every range has ended
   * @throws the reason that `stop` was given; KdlqError when the cluster cannot be read at all
   */
  async next(): Promise<RecordBlock | null> {
    this.#queue.release()
    for (;;) {
      this.#pump()
      if (this.#error !== null) throw this.#error.cause
      const block = this.#queue.take()
      if (block !== null || this.#queue.ended) return block
      const {promise, resolve} = Promise.withResolvers<void>()
      this.#notify = resolve
      await promise
    }
  }

  /** End the read now: `next` throws this reason, what is in flight is dropped. */
  stop(reason: unknown): void {
    this.#error ??= {cause: reason}
    this.#timer.cancel()
    this.#abort.abort(reason)
    this.#wake()
  }

  /** Drop what is in flight and wait until nothing of this read is left. Closing twice is fine. */
  async close(): Promise<void> {
    this.stop(new Error('the read was closed'))
    await Promise.allSettled(this.#tasks)
  }

  #wake(): void {
    this.#notify?.()
    this.#notify = null
  }

  /** Ranges that may be asked for now; in the order `partition` the first few unfinished ones only. */
  #open(): readonly PartitionRead[] {
    const open = this.#reads.filter(({done}) => !done)
    return this.#request.order === 'arrival' ? open : open.slice(0, this.#deps.tuning.rangesAhead)
  }

  /** Send what can be sent now and set the timer for what has to wait. */
  #pump(): void {
    if (this.#abort.signal.aborted) return
    const now = this.#deps.clock.monotonic()
    const open = this.#open()
    const ready = new Map<NodeId, PartitionRead[]>()
    let wakeAt = Number.POSITIVE_INFINITY
    for (const read of open) {
      if (read.busy || !this.#hasRoom(read)) continue
      if (read.stale || read.leader === null) {
        if (!this.#search.running && this.#search.notBefore <= now) this.#run(this.#findLeaders())
        else if (!this.#search.running) wakeAt = Math.min(wakeAt, this.#search.notBefore)
        continue
      }
      const {node} = read.leader
      const at = Math.max(read.notBefore, this.#nodeNotBefore.get(node) ?? 0, this.#rate.readyAt)
      const list = ready.get(node)
      if (at > now) wakeAt = Math.min(wakeAt, at)
      else if (list === undefined) ready.set(node, [read])
      else list.push(read)
    }
    for (const [node, reads] of ready) this.#send(node, reads, open)
    if (wakeAt < Number.POSITIVE_INFINITY) this.#timer.at(wakeAt)
  }

  /** Divide the waiting partitions among the free requests of this broker. */
  #send(node: NodeId, ready: PartitionRead[], open: readonly PartitionRead[]): void {
    const {tuning} = this.#deps
    const waiting = ready.toSorted((a, b) => a.served - b.served)
    // Where nothing is new anywhere, one request with all of them waits at the broker, instead of many that come back empty.
    const own = open.filter(read => read.leader?.node === node && !read.stale && this.#hasRoom(read))
    const quiet = own.every(({idle}) => idle)
    if (quiet && own.some(read => !read.busy && !waiting.includes(read))) return
    const most = this.#rate.limited || quiet ? 1 : tuning.requestsPerBroker
    while (waiting.length > 0) {
      const free = most - (this.#inFlight.get(node) ?? 0)
      if (free <= 0 || (this.#rate.limited && this.#reserved > 0)) return
      const count = Math.ceil(waiting.length / free)
      const maxBytes = this.#rate.cap(Math.min(tuning.maxBytes, count * tuning.partitionMaxBytes))
      if (!this.#mayHold(maxBytes, waiting, open)) return
      this.#run(this.#fetch(node, waiting.splice(0, count), maxBytes))
    }
  }

  #hasRoom(read: PartitionRead): boolean {
    return read.blocks.length < this.#deps.tuning.queuedAnswers
  }

  /** The range that the consumer waits for is always served, else full queues of later ranges would stall the read. */
  #mayHold(bytes: number, waiting: readonly PartitionRead[], open: readonly PartitionRead[]): boolean {
    const held = this.#reserved + this.#queue.bytes
    if (held === 0 || held + bytes <= this.#deps.tuning.bufferBytes) return true
    const first = open[0]
    return this.#request.order === 'partition' && first?.blocks.length === 0 && waiting.includes(first)
  }

  #run(task: Promise<void>): void {
    const owned = task
      .catch((error: unknown) => this.stop(error))
      .finally(() => {
        this.#tasks.delete(owned)
        this.#pump()
        this.#wake()
      })
    this.#tasks.add(owned)
  }

  async #fetch(node: NodeId, reads: readonly PartitionRead[], maxBytes: number): Promise<void> {
    const {transport, clock, tuning} = this.#deps
    const {signal} = this.#abort
    for (const read of reads) read.busy = true
    this.#reserved += maxBytes
    this.#inFlight.set(node, (this.#inFlight.get(node) ?? 0) + 1)
    // A broker answers one connection's requests in order: a long poll would hold up the data of the other partitions.
    const alone = this.#open().every(read => reads.includes(read) || read.leader?.node !== node)
    const maxWaitMs = alone ? tuning.maxWaitMs : 0
    const partitionMaxBytes = this.#rate.cap(tuning.partitionMaxBytes)
    const {isolationLevel} = this.#request
    try {
      const sizes = {isolationLevel, maxWaitMs, maxBytes, partitionMaxBytes}
      const {throttleMs, code, partitions} = await fetchPartitions(transport, {node, reads, ...sizes}, {signal})
      if (code !== CODE.NONE) throw protocolError(code, fetchApi.name, {broker: node})
      this.#queue.throttled(throttleMs)
      if (throttleMs > 0) this.#nodeNotBefore.set(node, clock.monotonic() + throttleMs)
      for (const [index, read] of reads.entries()) {
        read.busy = false
        const answer = partitions.get(read)
        if (answer === undefined) continue
        const came = this.#outcomes.answered(read, answer, {node, first: index === 0, maxWaitMs})
        if (came === 'elsewhere') this.#run(this.#outcomes.relocate(read, signal))
        else this.#rate.spend(came)
      }
    } catch (error) {
      for (const read of reads) read.busy = false
      if (signal.aborted) return
      const failure = failureOf(error)
      if (!failure.retriable) throw failure
      for (const read of reads) this.#outcomes.failed(read, failure)
    } finally {
      this.#reserved -= maxBytes
      this.#inFlight.set(node, (this.#inFlight.get(node) ?? 1) - 1)
    }
  }

  /** Ask for leaders; the session ends when no broker tells for too long. */
  async #findLeaders(): Promise<void> {
    const {clock, tuning} = this.#deps
    const {signal} = this.#abort
    const search = this.#search
    search.running = true
    try {
      await this.#leaders.refresh({signal})
      search.failingSince = null
      for (const read of this.#reads) if (read.stale && !read.busy && !read.done) this.#outcomes.located(read)
      search.rounds = this.#reads.some(({stale, done}) => stale && !done) ? search.rounds + 1 : 0
    } catch (error) {
      if (signal.aborted) return
      const failure = failureOf(error)
      const now = clock.monotonic()
      search.failingSince ??= now
      search.rounds++
      if (!failure.retriable || now - search.failingSince >= tuning.unavailableAfterMs) throw failure
    } finally {
      search.running = false
      search.notBefore = search.rounds === 0 ? 0 : clock.monotonic() + backoffMs(search.rounds)
    }
  }
}
