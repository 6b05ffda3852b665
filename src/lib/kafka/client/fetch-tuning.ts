import type {Clock} from '../../clock.ts'
import type {Transport} from '../transport.ts'

export interface ReadDeps {
  readonly transport: Transport
  readonly clock: Clock
  readonly tuning: FetchTuning
}

/** Sizes in bytes, times in ms. */
export interface FetchTuning {
  /** How long a broker may hold a request for which it has nothing yet. */
  readonly maxWaitMs: number
  readonly maxBytes: number
  /** A larger batch still comes, alone. */
  readonly partitionMaxBytes: number
  /** Requests in flight to one broker, each for other partitions. */
  readonly requestsPerBroker: number
  /** Most bytes that are asked for or wait for the consumer; one larger batch may exceed it. */
  readonly bufferBytes: number
  /** Answers of one partition that may wait for the consumer. */
  readonly queuedAnswers: number
  /** In the order `partition`: this many unfinished ranges are read at the same time. */
  readonly rangesAhead: number
  /** A partition whose leader cannot be read for so long is given up. */
  readonly unavailableAfterMs: number
  /** A topic that metadata does not know for so long counts as deleted. */
  readonly deletedAfterMs: number
  /** A range whose end the broker does not reach (an open transaction, a lower end) is given up after so long. */
  readonly stalledAfterMs: number
}

export const defaultTuning: FetchTuning = {
  maxWaitMs: 500,
  maxBytes: 8 << 20,
  partitionMaxBytes: 1 << 20,
  requestsPerBroker: 3,
  bufferBytes: 32 << 20,
  queuedAnswers: 2,
  rangesAhead: 3,
  unavailableAfterMs: 30_000,
  deletedAfterMs: 5_000,
  stalledAfterMs: 30_000,
}
