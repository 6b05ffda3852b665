import type {OutgoingBatch, ProducerSession, ProduceResult} from '../kafka/ports.ts'
import {partitionForKey} from '../kafka/murmur2.ts'
import {RecordBatchBuilder} from '../kafka/records/batch-builder.ts'
import {systemRandom} from './backoff.ts'
import type {RandomSource} from './backoff.ts'
import type {DeadLetterProducer, DeadLetterRecord} from './dead-letter-queue-reporter.ts'
import {JavaException, toError} from './errors.ts'
import {SettableFuture} from './report-future.ts'
import type {ReportFuture} from './report-future.ts'

/** What a dead letter producer holds at most before `ready` waits: Kafka's `buffer.memory`. */
const BUFFER_BYTES = 32 * 1024 * 1024

/** A batch that the broker refuses for one of these is sent again record by record. */
const REFUSED_FOR_A_RECORD = new Set(['E_MESSAGE_TOO_LARGE', 'E_RECORD_LIST_TOO_LARGE', 'E_INVALID_RECORD'])

/** With what and how dead letters are written. */
export interface DeadLetterProducerOptions {
  /** Opens the session at the first record; its errors fail what waits for it, and the next record tries again. */
  readonly open: () => Promise<ProducerSession>
  /** Partitions of the dead letter topic, at least 1. */
  readonly partitions: number
  /** `max.in.flight.requests.per.connection`; absent = 1, which Connect sets so that the order holds. */
  readonly maxInFlight?: number
  /** `max.request.size` in bytes; absent = 1 MiB. */
  readonly maxRequestBytes?: number
  /** Picks the partitions of records without a key. */
  readonly random?: RandomSource
}

interface Waiting {
  readonly record: DeadLetterRecord
  readonly partition: number
  readonly bytes: number
  readonly future: SettableFuture
}

interface Batch {
  readonly outgoing: OutgoingBatch
  readonly entries: Waiting[]
}

/** Writes dead letters through a producer session: queued, batched, and in order unless told otherwise. */
export class QueuedDeadLetterProducer implements DeadLetterProducer {
  readonly #options: DeadLetterProducerOptions
  readonly #maxInFlight: number
  readonly #maxRequestBytes: number
  readonly #random: RandomSource
  readonly #measure = new RecordBatchBuilder()
  readonly #inFlight = new Set<Promise<void>>()
  #queue: Waiting[] = []
  #bytes = 0
  #session: Promise<ProducerSession> | null = null
  #sticky: number | null = null
  #closed = false

  constructor(options: DeadLetterProducerOptions) {
    this.#options = options
    this.#maxInFlight = options.maxInFlight ?? 1
    this.#maxRequestBytes = options.maxRequestBytes ?? 1_048_576
    this.#random = options.random ?? systemRandom
  }

  /**
   * @returns a future that failed already for a record larger than a request may be
   * @throws JavaException (IllegalStateException) once it is closed
   */
  send(record: DeadLetterRecord): ReportFuture {
    if (this.#closed) {
      const message = 'Cannot perform operation after producer has been closed'
      throw new JavaException({className: 'java.lang.IllegalStateException', message})
    }
    const bytes = this.#measure.sizeInBytes + this.#measure.sizeOf(record)
    if (bytes > this.#maxRequestBytes) return SettableFuture.settled(tooLarge(bytes, this.#maxRequestBytes))
    const future = new SettableFuture()
    this.#queue.push({record, partition: this.#partitionOf(record), bytes, future})
    this.#bytes += bytes
    this.#pump()
    return future
  }

  /** Waits while more is queued than a producer's buffer holds; `send` itself never waits. */
  async ready(): Promise<void> {
    while (this.#bytes > BUFFER_BYTES && this.#inFlight.size > 0) await Promise.race(this.#inFlight)
  }

  /** Waits for everything that was sent. */
  async close(): Promise<void> {
    this.#closed = true
    while (this.#inFlight.size > 0) await Promise.race(this.#inFlight)
    const session = this.#session
    this.#session = null
    if (session !== null) await (await session).close()
  }

  /** By the key's hash; without a key one partition a request, as Kafka's default partitioner does. */
  #partitionOf({key}: DeadLetterRecord): number {
    const {partitions} = this.#options
    if (key !== null) return partitionForKey(key, partitions)
    this.#sticky ??= Number(this.#random(BigInt(partitions)))
    return this.#sticky
  }

  #pump(): void {
    if (this.#queue.length === 0 || this.#inFlight.size >= this.#maxInFlight) return
    const batches = this.#take()
    const sending: Promise<void> = this.#produce(batches).finally(() => {
      this.#inFlight.delete(sending)
      this.#pump()
    })
    this.#inFlight.add(sending)
  }

  /** As much of the queue as fits in a request, a batch a partition. */
  #take(): Batch[] {
    const batches = new Map<number, Batch>()
    let bytes = 0
    let taken = 0
    for (const waiting of this.#queue) {
      if (taken > 0 && bytes + waiting.bytes > this.#maxRequestBytes) break
      const {record, partition} = waiting
      let batch = batches.get(partition)
      if (batch === undefined) {
        batch = {outgoing: {topic: record.topic, partition, records: new RecordBatchBuilder()}, entries: []}
        batches.set(partition, batch)
      }
      batch.outgoing.records.append(record)
      batch.entries.push(waiting)
      bytes += waiting.bytes
      taken++
    }
    this.#queue = this.#queue.slice(taken)
    this.#sticky = null
    return [...batches.values()]
  }

  async #produce(batches: readonly Batch[]): Promise<void> {
    try {
      const session = await this.#open()
      const results = await session.produce(batches.map(({outgoing}) => outgoing))
      for (const [index, batch] of batches.entries()) await this.#settle(session, batch, results[index])
    } catch (error) {
      for (const {entries} of batches) for (const entry of entries) this.#done(entry, toError(error))
    }
  }

  async #open(): Promise<ProducerSession> {
    this.#session ??= this.#options.open()
    try {
      return await this.#session
    } catch (error) {
      this.#session = null
      throw error
    }
  }

  async #settle(
    session: ProducerSession,
    {outgoing, entries}: Batch,
    result: ProduceResult | undefined,
  ): Promise<void> {
    const error = result?.error ?? null
    if (error === null || entries.length === 1 || !REFUSED_FOR_A_RECORD.has(error.code)) {
      for (const entry of entries) this.#done(entry, error)
      return
    }
    for (const entry of entries) {
      const records = new RecordBatchBuilder()
      records.append(entry.record)
      const [alone] = await session.produce([{...outgoing, records}])
      this.#done(entry, alone?.error ?? null)
    }
  }

  #done({future, bytes}: Waiting, error: Error | null): void {
    if (future.isDone) return
    this.#bytes -= bytes
    if (error === null) future.complete()
    else future.fail(error)
  }
}

function tooLarge(bytes: number, limit: number): JavaException {
  const className = 'org.apache.kafka.common.errors.RecordTooLargeException'
  const message = `The message is ${bytes} bytes when serialized which is larger than ${limit}, which is the value of the max.request.size configuration.`
  return new JavaException({className, message})
}
