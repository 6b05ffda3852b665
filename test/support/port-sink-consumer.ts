import type {PartitionOffset} from '../../src/lib/connect-engine/partition-offsets.ts'
import type {RebalanceListener, SinkConsumer} from '../../src/lib/connect-engine/sink-task.ts'
import type {ClusterReader} from '../../src/lib/kafka/ports.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'

/** A consumer of one partition over the reader port: everything that is there in one poll, then nothing more. */
export class PortSinkConsumer implements SinkConsumer {
  /** What was committed last; null = nothing. */
  committed: bigint | null = null
  readonly #reader: ClusterReader
  readonly #partition: {readonly topic: string; readonly partition: number}
  readonly #onEnd: () => void
  #listener: RebalanceListener | null = null
  #assigned = false
  #isPaused = false
  #position = 0n

  /** @param onEnd called by each poll that found nothing although it may read */
  constructor(reader: ClusterReader, topic: string, onEnd: () => void) {
    this.#reader = reader
    this.#partition = {topic, partition: 0}
    this.#onEnd = onEnd
  }

  subscribe(listener: RebalanceListener): void {
    this.#listener = listener
  }

  async poll(): Promise<readonly KafkaRecord[]> {
    if (!this.#assigned) {
      this.#assigned = true
      await this.#listener?.onPartitionsAssigned([this.#partition])
    }
    if (this.#isPaused) return []
    const [end] = await this.#reader.offsets([{...this.#partition, at: 'last-stable'}])
    const range = {...this.#partition, from: this.#position, to: end?.offset ?? 0n}
    const records: KafkaRecord[] = []
    for await (const block of this.#reader.read({
      ranges: [range],
      isolationLevel: 'read_committed',
      order: 'partition',
    })) {
      for (const cursor of recordsIn(block)) records.push(cursor.toRecord(block.topic, block.partition))
    }
    this.#position = range.to
    if (records.length === 0) this.#onEnd()
    return records
  }

  assignment(): readonly {readonly topic: string; readonly partition: number}[] {
    return this.#assigned ? [this.#partition] : []
  }

  position(): bigint {
    return this.#position
  }

  seek(_partition: unknown, offset: bigint): void {
    this.#position = offset
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    this.committed = offsets[0]?.offset ?? null
  }

  close(): void {}
}
