import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import type {PartitionOffset} from '../../src/lib/connect-engine/partition-offsets.ts'
import type {TopicPartition} from '../../src/lib/connect-engine/report-future.ts'
import type {RebalanceListener, SinkConsumer} from '../../src/lib/connect-engine/sink-task.ts'

type Step = (listener: RebalanceListener) => readonly KafkaRecord[] | Promise<readonly KafkaRecord[]>

/** A consumer that answers each poll with the next step of a script and notes what it is asked for. */
export class FakeSinkConsumer implements SinkConsumer {
  /** Calls in order: `pause t-0`, `commit t-0@5`, ... */
  readonly calls: string[] = []
  /** Timeouts of the polls, ms. */
  readonly timeouts: number[] = []
  commitError: Error | null = null
  #listener: RebalanceListener | null = null
  #assigned: TopicPartition[] = []
  readonly #steps: Step[] = []
  /** Runs when the script is over, instead of polling again. */
  onEnd: () => void = () => {}

  /** The next polls: records, or something that happens inside a poll. */
  script(...steps: (Step | readonly KafkaRecord[])[]): void {
    for (const step of steps) this.#steps.push(typeof step === 'function' ? step : () => step)
  }

  /** A step that gives the task partitions, from offset 0 on. */
  assign(...partitions: TopicPartition[]): Step {
    return async listener => {
      this.#assigned.push(...partitions)
      await listener.onPartitionsAssigned(partitions)
      return []
    }
  }

  /** A step that takes partitions away. */
  remove(how: 'revoked' | 'lost', ...partitions: TopicPartition[]): Step {
    return async listener => {
      await (how === 'lost' ? listener.onPartitionsLost(partitions) : listener.onPartitionsRevoked(partitions))
      const gone = new Set(partitions.map(name))
      this.#assigned = this.#assigned.filter(entry => !gone.has(name(entry)))
      return []
    }
  }

  subscribe(listener: RebalanceListener): void {
    this.#listener = listener
  }

  async poll(timeoutMs: number): Promise<readonly KafkaRecord[]> {
    this.timeouts.push(timeoutMs)
    const step = this.#steps.shift()
    if (step === undefined || this.#listener === null) {
      this.onEnd()
      return []
    }
    return step(this.#listener)
  }

  assignment(): readonly TopicPartition[] {
    return this.#assigned
  }

  position(): bigint {
    return 0n
  }

  seek(partition: TopicPartition, offset: bigint): void {
    this.calls.push(`seek ${name(partition)}@${offset}`)
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.calls.push(`pause ${partitions.map(name).join(' ')}`)
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.calls.push(`resume ${partitions.map(name).join(' ')}`)
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    this.calls.push(`commit ${offsets.map(offset => `${name(offset)}@${offset.offset}`).join(' ')}`)
    if (this.commitError !== null) throw this.commitError
    await Promise.resolve()
  }

  close(): void {
    this.calls.push('close')
  }

  get commits(): readonly string[] {
    return this.calls.filter(call => call.startsWith('commit'))
  }
}

function name({topic, partition}: TopicPartition): string {
  return `${topic}-${partition}`
}
