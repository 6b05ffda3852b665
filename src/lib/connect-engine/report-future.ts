import type {Clock} from '../clock.ts'
import {ConnectException, ExecutionException, JavaException, UnsupportedOperationException} from './errors.ts'

/** Where a report stands. */
export type FutureState = 'pending' | 'done' | 'failed'

/** Limits of a wait for a report. */
export interface GetOptions {
  /** How long to wait for each part, in ms; needs the clock. Absent = without limit. */
  readonly timeoutMs?: number
  readonly clock?: Clock
}

/**
 * The outcome of a report. Its state can be read at once, which a promise cannot offer: the engine drops what is already
 * done. Nothing rejects unless somebody calls `get`, so a future may be thrown away.
 */
export interface ReportFuture {
  /** `failed` counts as done. */
  readonly state: FutureState
  readonly isDone: boolean
  /** Why it failed; null unless it did. */
  readonly error: Error | null
  readonly isCancelled: boolean
  /**
   * Wait for the outcome.
   * @throws ExecutionException with the error as cause; JavaException (java.util.concurrent.TimeoutException)
   */
  get(options?: GetOptions): Promise<void>
  /** @throws UnsupportedOperationException for a report that was handed to a reporter */
  cancel(): boolean
  /** Calls back when it is done, at once when it is already. */
  onDone(callback: (error: Error | null) => void): void
}

/** A future that its owner completes: what a send returns. Completing it again changes nothing. */
export class SettableFuture implements ReportFuture {
  #state: FutureState = 'pending'
  #error: Error | null = null
  #callbacks: ((error: Error | null) => void)[] = []

  /** A future that is done already, with an error or without. */
  static settled(error: Error | null = null): SettableFuture {
    const future = new SettableFuture()
    future.#settle(error)
    return future
  }

  get state(): FutureState {
    return this.#state
  }

  get isDone(): boolean {
    return this.#state !== 'pending'
  }

  get error(): Error | null {
    return this.#error
  }

  get isCancelled(): boolean {
    return false
  }

  complete(): void {
    this.#settle(null)
  }

  fail(error: Error): void {
    this.#settle(error)
  }

  cancel(): boolean {
    return false
  }

  onDone(callback: (error: Error | null) => void): void {
    if (this.isDone) callback(this.#error)
    else this.#callbacks.push(callback)
  }

  async get({timeoutMs, clock}: GetOptions = {}): Promise<void> {
    if (!this.isDone) {
      const done = new Promise<void>(resolve => {
        this.onDone(() => {
          resolve()
        })
      })
      if (timeoutMs === undefined || clock === undefined) await done
      else await withinTime(done, timeoutMs, clock)
    }
    if (this.#error !== null) throw new ExecutionException(this.#error)
  }

  #settle(error: Error | null): void {
    if (this.isDone) return
    this.#error = error
    this.#state = error === null ? 'done' : 'failed'
    const callbacks = this.#callbacks
    this.#callbacks = []
    for (const callback of callbacks) callback(error)
  }
}

async function withinTime(done: Promise<void>, timeoutMs: number, clock: Clock): Promise<void> {
  const over = new AbortController()
  const timer = clock.sleep(timeoutMs, {signal: over.signal}).then(
    () => true,
    () => false,
  )
  const late = await Promise.race([done.then(() => false), timer])
  over.abort()
  if (late) throw new JavaException({className: 'java.util.concurrent.TimeoutException', message: null})
}

/** A future that is done already: what a report without reporters returns. */
export function doneFuture(): ReportFuture {
  return SettableFuture.settled()
}

/**
 * One future over several: done when all are; the first one in order that failed tells why.
 * @see Connect's WorkerErrantRecordReporter.ErrantRecordFuture
 */
export class CompositeFuture implements ReportFuture {
  readonly #parts: readonly ReportFuture[]

  constructor(parts: readonly ReportFuture[]) {
    this.#parts = parts
  }

  get isDone(): boolean {
    return this.#parts.every(part => part.isDone)
  }

  get error(): Error | null {
    return this.isDone ? (this.#parts.find(part => part.error !== null)?.error ?? null) : null
  }

  get state(): FutureState {
    if (!this.isDone) return 'pending'
    return this.error === null ? 'done' : 'failed'
  }

  get isCancelled(): boolean {
    return false
  }

  cancel(): boolean {
    throw new UnsupportedOperationException('Reporting an errant record cannot be cancelled.')
  }

  onDone(callback: (error: Error | null) => void): void {
    let open = this.#parts.length
    if (open === 0) callback(null)
    for (const part of this.#parts) {
      part.onDone(() => {
        open--
        if (open === 0) callback(this.error)
      })
    }
  }

  async get(options?: GetOptions): Promise<void> {
    for (const part of this.#parts) await part.get(options)
  }
}

/** Reports that somebody has to wait for before offsets move, by topic and partition. */
export class PendingReports {
  readonly #byPartition = new Map<string, TopicPartition & {readonly futures: ReportFuture[]}>()

  /** Keep a future that is not done. */
  file(partition: TopicPartition, future: ReportFuture): void {
    if (future.isDone) return
    const key = partitionKey(partition)
    const filed = this.#byPartition.get(key)
    if (filed !== undefined) filed.futures.push(future)
    // What is filed may be a whole record: only its coordinates are kept.
    else this.#byPartition.set(key, {topic: partition.topic, partition: partition.partition, futures: [future]})
  }

  /** Take the futures of these partitions out, in the order of reports within each. */
  take(partitions: Iterable<TopicPartition>): ReportFuture[] {
    const taken: ReportFuture[] = []
    for (const partition of partitions) {
      const key = partitionKey(partition)
      taken.push(...(this.#byPartition.get(key)?.futures ?? []))
      this.#byPartition.delete(key)
    }
    return taken
  }

  /** How many futures are kept for each partition, sorted by name and number. */
  counts(): (TopicPartition & {readonly count: number})[] {
    return [...this.#byPartition.values()]
      .map(({topic, partition, futures}) => ({topic, partition, count: futures.length}))
      .sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition))
  }
}

/** One partition of a topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** One text for a topic and a partition: `topic-partition`. */
export function partitionKey({topic, partition}: TopicPartition): string {
  return `${topic}-${partition}`
}

/**
 * Wait for all in order; the first failure ends it.
 * @throws ConnectException around the ExecutionException of the first one that failed
 */
export async function awaitReports(
  futures: readonly ReportFuture[],
  onFailure: (error: ExecutionException) => void = () => {},
): Promise<void> {
  for (const future of futures) {
    try {
      await future.get()
    } catch (error) {
      if (!(error instanceof ExecutionException)) throw error
      onFailure(error)
      throw new ConnectException(`${error.className}: ${error.message}`, {cause: error})
    }
  }
}
