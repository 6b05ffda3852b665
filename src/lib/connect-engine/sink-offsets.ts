import type {KafkaRecord} from '../kafka/record.ts'
import type {RetryWithToleranceOperator} from './engine.ts'
import type {WorkerErrantRecordReporter} from './errant-record-reporter.ts'
import {type PartitionOffset, PartitionOffsets, PartitionSet} from './partition-offsets.ts'
import type {TopicPartition} from './report-future.ts'
import type {SinkConsumer, SinkTask} from './sink-task.ts'
import type {TaskLifecycle} from './task-lifecycle.ts'

interface SinkOffsetsOptions {
  readonly sinkTask: SinkTask
  readonly consumer: SinkConsumer
  readonly operator: RetryWithToleranceOperator<KafkaRecord>
  readonly errant: WorkerErrantRecordReporter | null
  readonly lifecycle: TaskLifecycle
}

/**
 * How far a sink task is, and how that is committed.
 * @see Connect's WorkerSinkTask.commitOffsets
 */
export class SinkOffsets {
  readonly #options: SinkOffsetsOptions
  /** After the last record consumed; becomes current with the next `put` that succeeds. */
  readonly #consumed = new PartitionOffsets()
  readonly #current = new PartitionOffsets()
  readonly #committed = new PartitionOffsets()
  #committing: Promise<void> | null = null
  /** Commits are numbered: an old one that answers late changes nothing. */
  #commitNumber = 0
  /** A report was lost: its record must be read again, so nothing is committed any more. Connect commits on its way out. */
  #isUnreported = false

  constructor(options: SinkOffsetsOptions) {
    this.#options = options
  }

  /** Where a partition begins, or is to be read again. */
  start(entry: PartitionOffset): void {
    this.#committed.set(entry)
    this.#current.set(entry)
  }

  consumed({topic, partition, offset}: KafkaRecord): void {
    this.#consumed.set({topic, partition, offset: offset + 1n})
  }

  /** All that was consumed is with the task. */
  delivered(): void {
    this.#current.setAll(this.#consumed.entries())
    this.#consumed.clear()
  }

  forget(partitions: readonly TopicPartition[]): void {
    for (const offsets of [this.#consumed, this.#current, this.#committed]) offsets.remove(partitions)
  }

  /** Partitions that have an offset. */
  get partitions(): readonly TopicPartition[] {
    return this.#current.entries().map(({topic, partition}) => ({topic, partition}))
  }

  get isCommitting(): boolean {
    return this.#committing !== null
  }

  /** Wait for a commit that is on its way. */
  async settled(): Promise<void> {
    await this.#committing
  }

  /**
   * Reports about the partitions first, then `preCommit` (and `close`), then the commit of what the task allows.
   * @throws ConnectException for a report that failed; what `close` throws
   */
  async commit(partitions: readonly TopicPartition[], closing: boolean): Promise<void> {
    const {errant, operator, lifecycle, sinkTask} = this.#options
    try {
      await errant?.awaitFutures(partitions)
      await operator.awaitReports(partitions)
    } catch (error) {
      this.#isUnreported = true
      throw error
    }
    if (this.#isUnreported) {
      if (closing) await sinkTask.close?.(partitions)
      return
    }
    const offered = this.#current.of(partitions)
    if (offered.length === 0) return
    this.#commitNumber++
    const allowed = await this.#preCommit(offered, partitions, closing)
    if (allowed === null || lifecycle.isCancelled) return
    const commit = this.#write(allowed, this.#commitNumber)
    if (closing) await commit
    else this.#committing = commit
  }

  /** What of the task's answer is to be committed; null = nothing. */
  async #preCommit(
    offered: readonly PartitionOffset[],
    partitions: readonly TopicPartition[],
    closing: boolean,
  ): Promise<readonly PartitionOffset[] | null> {
    const {sinkTask, consumer} = this.#options
    const committed = this.#committed.of(offered)
    let answer: readonly PartitionOffset[]
    try {
      answer = (await sinkTask.preCommit?.([...offered])) ?? offered
    } catch (error) {
      if (closing) {
        this.#log('Offset commit failed during close', error)
        return null
      }
      this.#log('Offset commit failed, rewinding to last committed offsets', error)
      for (const entry of committed) consumer.seek(entry, entry.offset)
      this.#current.setAll(committed)
      return null
    } finally {
      if (closing) await sinkTask.close?.(partitions)
    }
    return this.#validated(answer, new PartitionOffsets(offered), committed)
  }

  #validated(
    answer: readonly PartitionOffset[],
    offered: PartitionOffsets,
    committed: readonly PartitionOffset[],
  ): readonly PartitionOffset[] | null {
    const before = new PartitionOffsets(committed)
    const result = new PartitionOffsets(committed)
    const assigned = new PartitionSet(this.#options.consumer.assignment())
    for (const entry of answer) {
      const limit = before.get(entry) === undefined ? undefined : offered.get(entry)
      if (limit !== undefined && entry.offset <= limit) result.set(entry)
      // An assigned partition that is not part of this commit is no mistake.
      else if (limit !== undefined || !assigned.has(entry)) {
        const place = `${entry.topic}-${entry.partition}/${entry.offset}`
        const reason = limit === undefined ? 'partition not assigned' : 'not yet consumed'
        this.#log(`Ignoring invalid task provided offset ${place} -- ${reason}`, null)
      }
    }
    const entries = result.entries()
    return entries.every(entry => before.get(entry) === entry.offset) ? null : entries
  }

  async #write(offsets: readonly PartitionOffset[], number: number): Promise<void> {
    try {
      await this.#options.consumer.commit(offsets)
      if (number === this.#commitNumber) this.#committed.setAll(offsets)
    } catch (error) {
      this.#log('Commit of offsets threw an unexpected exception', error)
    } finally {
      if (number === this.#commitNumber) this.#committing = null
    }
  }

  #log(message: string, error: unknown): void {
    this.#options.lifecycle.log(message, error)
  }
}
