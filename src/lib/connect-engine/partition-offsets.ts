import {partitionKey, type TopicPartition} from './report-future.ts'

/** A position in a partition: the offset of the next record to read, as Kafka commits it. */
export interface PartitionOffset extends TopicPartition {
  readonly offset: bigint
}

/** Offsets by partition. */
export class PartitionOffsets {
  readonly #byPartition = new Map<string, PartitionOffset>()

  constructor(entries: Iterable<PartitionOffset> = []) {
    this.setAll(entries)
  }

  get size(): number {
    return this.#byPartition.size
  }

  get(partition: TopicPartition): bigint | undefined {
    return this.#byPartition.get(partitionKey(partition))?.offset
  }

  set({topic, partition, offset}: PartitionOffset): void {
    this.#byPartition.set(partitionKey({topic, partition}), {topic, partition, offset})
  }

  setAll(entries: Iterable<PartitionOffset>): void {
    for (const entry of entries) this.set(entry)
  }

  remove(partitions: Iterable<TopicPartition>): void {
    for (const partition of partitions) this.#byPartition.delete(partitionKey(partition))
  }

  clear(): void {
    this.#byPartition.clear()
  }

  /** In the order in which the partitions came. */
  entries(): PartitionOffset[] {
    return [...this.#byPartition.values()]
  }

  /** Only those of the given partitions. */
  of(partitions: Iterable<TopicPartition>): PartitionOffset[] {
    const chosen = new PartitionSet(partitions)
    return this.entries().filter(entry => chosen.has(entry))
  }
}

/** Partitions to look things up by. */
export class PartitionSet {
  readonly #keys: ReadonlySet<string>

  constructor(partitions: Iterable<TopicPartition>) {
    this.#keys = new Set(Array.from(partitions, partitionKey))
  }

  has(partition: TopicPartition): boolean {
    return this.#keys.has(partitionKey(partition))
  }
}
