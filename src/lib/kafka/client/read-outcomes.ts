import type {KdlqError} from '../../errors.ts'
import {DecompressionScratch} from '../compression/scratch.ts'
import type {OffsetQuery, ReadNotice, ReadRequest} from '../ports.ts'
import {protocolError} from '../protocol/errors.ts'
import {fetchApi} from '../protocol/generated/fetch.ts'
import type {FetchResponsePartitionData} from '../protocol/generated/fetch.ts'
import type {NodeId} from '../protocol/types.ts'
import type {BlockQueue} from './block-queue.ts'
import {takeAnswer} from './fetch-answer.ts'
import type {ReadDeps} from './fetch-tuning.ts'
import type {Leaders} from './leaders.ts'
import {listOffsets} from './offsets.ts'
import type {PartitionRead} from './partition-read.ts'
import {CODE, failureOf} from './retry.ts'

/** How a partition was asked for. */
export interface Asked {
  readonly node: NodeId
  /** It stood first in the request. */
  readonly first: boolean
  readonly maxWaitMs: number
}

type IncompleteReason = Extract<ReadNotice, {kind: 'incomplete'}>['reason']

/** Wait after an empty answer that the broker was not allowed to hold back. */
const EMPTY_WAIT_MS = 50

/** Codes that Kafka does not call retriable, and that still pass: a log that is being changed right now. */
const MAY_PASS = new Set(['E_OFFSET_OUT_OF_RANGE', 'E_UNKNOWN_SERVER_ERROR', 'E_INCONSISTENT_TOPIC_ID'])

/** What follows for one partition from an answer, an error or new metadata: a block, another try, or its end. */
export class ReadOutcomes {
  readonly #deps: ReadDeps
  readonly #request: ReadRequest
  readonly #leaders: Leaders
  readonly #queue: BlockQueue
  readonly #scratch = new DecompressionScratch()
  #served = 0

  constructor(deps: ReadDeps, request: ReadRequest, leaders: Leaders, queue: BlockQueue) {
    this.#deps = deps
    this.#request = request
    this.#leaders = leaders
    this.#queue = queue
  }

  /** @returns bytes of the batches that came, or `elsewhere` when the position has to be looked up by `relocate` */
  answered(read: PartitionRead, answer: FetchResponsePartitionData, asked: Asked): number | 'elsewhere' {
    const {errorCode, divergingEpoch} = answer
    const {topic, partition} = read.range
    if (errorCode === CODE.OFFSET_OUT_OF_RANGE) return 'elsewhere'
    if (errorCode !== CODE.NONE) {
      this.failed(read, protocolError(errorCode, fetchApi.name, {topic, partition, broker: asked.node}))
      return 0
    }
    if (divergingEpoch.endOffset >= 0n) {
      this.#giveUp(read, 'truncated', null)
      return 0
    }
    read.succeeded()
    const before = read.position
    const {isolationLevel} = this.#request
    const content = takeAnswer(read, answer, {isolationLevel, scratch: this.#scratch})
    const moved = read.position > before
    if (moved || asked.first) read.served = ++this.#served
    if (moved) read.progressed()
    else this.#empty(read, answer, asked)
    if (read.ended) read.done = true
    this.#queue.push(read, content)
    return content.bytes
  }

  /**
   * Nothing came. Mostly that says nothing: the answer was full, or there is nothing yet. It is the end of the range only
   * if this partition was first in line, where a batch would have come, and the broker has the range's end: then nothing
   * is left below it (a tail that compaction emptied).
   */
  #empty(read: PartitionRead, answer: FetchResponsePartitionData, {first, maxWaitMs}: Asked): void {
    const {to} = read.range
    const now = this.#deps.clock.monotonic()
    read.idle = true
    if (maxWaitMs === 0) read.notBefore = now + EMPTY_WAIT_MS
    if (to === null) return
    const end = this.#request.isolationLevel === 'read_committed' ? answer.lastStableOffset : answer.highWatermark
    if (end >= to) {
      if (first && ++read.emptyFirst >= 2) read.position = to
      return
    }
    read.emptySince ??= now
    const {stalledAfterMs} = this.#deps.tuning
    const isOpen = answer.highWatermark >= to
    const patienceMs = isOpen ? (this.#request.waitForStableMs ?? stalledAfterMs) : stalledAfterMs
    if (now - read.emptySince < patienceMs) return
    this.#giveUp(read, isOpen ? 'open-transaction' : 'truncated', null)
  }

  /** The offset asked for is not there: records below were deleted, or the log ends before it. */
  async relocate(read: PartitionRead, signal: AbortSignal): Promise<void> {
    const {topic, partition, to} = read.range
    read.busy = true
    try {
      await this.#leaders.refresh({signal})
      if (this.#replaced(read)) return
      const {transport, clock, tuning} = this.#deps
      const queries: OffsetQuery[] = [
        {topic, partition, at: 'earliest'},
        {topic, partition, at: 'latest'},
      ]
      const deps = {transport, clock, patienceMs: tuning.unavailableAfterMs}
      const [earliest, latest] = await listOffsets(deps, queries, {signal})
      const outOfRange = protocolError(CODE.OFFSET_OUT_OF_RANGE, fetchApi.name, {topic, partition})
      const start = earliest?.offset ?? null
      const end = latest?.offset ?? null
      if (start === null || end === null) return this.failed(read, earliest?.error ?? latest?.error ?? outOfRange)
      if (read.position > end) return this.#giveUp(read, 'truncated', outOfRange)
      if (read.position >= start) return this.failed(read, outOfRange)
      const next = to === null || start < to ? start : to
      read.notices.push({kind: 'gap', from: read.position, to: next})
      read.position = next
      read.from = next
      read.lastEpoch = -1
      read.done = read.ended
      this.#queue.push(read)
    } catch (error) {
      if (!signal.aborted) this.failed(read, failureOf(error))
    } finally {
      read.busy = false
    }
  }

  /** Take the leader that metadata names now. A read stays stale while there is none. */
  located(read: PartitionRead): void {
    if (this.#replaced(read)) return
    const {topic, partition} = read.range
    const found = this.#leaders.of(topic, partition)
    if (found.state === 'known') {
      read.leader = {node: found.node, epoch: found.epoch}
      read.topicId = found.topicId
      read.stale = false
      return
    }
    const error = protocolError(found.code, 'Metadata', {topic, partition})
    if (found.state === 'refused') return this.#giveUp(read, 'unavailable', error)
    if (found.state === 'leaderless') return this.failed(read, error)
    const now = this.#deps.clock.monotonic()
    read.missingSince ??= now
    if (now - read.missingSince >= this.#deps.tuning.deletedAfterMs) this.#giveUp(read, 'deleted', error)
  }

  /** Ask again later, with fresh metadata; after too long without success the partition is given up. */
  failed(read: PartitionRead, error: KdlqError): void {
    const since = read.failed(this.#deps.clock.monotonic())
    const passes = error.retriable || MAY_PASS.has(error.code)
    if (!passes || since >= this.#deps.tuning.unavailableAfterMs) this.#giveUp(read, 'unavailable', error)
  }

  finish(read: PartitionRead): void {
    read.done = true
    this.#queue.push(read)
  }

  /** A topic of the same name with another id is another topic: its offsets mean other records. */
  #replaced(read: PartitionRead): boolean {
    const {topicId} = this.#leaders.of(read.range.topic, read.range.partition)
    if (topicId === null || read.topicId === null || topicId === read.topicId) return false
    this.#giveUp(read, 'recreated', null)
    return true
  }

  #giveUp(read: PartitionRead, reason: IncompleteReason, error: KdlqError | null): void {
    read.notices.push({kind: 'incomplete', at: read.position, reason, error})
    this.finish(read)
  }
}
