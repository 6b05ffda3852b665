import type {KdlqError} from '../../src/lib/errors.ts'
import type {OutgoingBatch, ProduceResult, ProducerSession} from '../../src/lib/kafka/ports.ts'

/** A record as a session was given it. */
export interface ProducedRecord {
  readonly topic: string
  readonly partition: number
  readonly timestamp: bigint | null
  readonly value: string | null
}

/** A producer session that keeps what it gets; a test may refuse batches, hold requests, or break it. */
export class FakeSession implements ProducerSession {
  readonly records: ProducedRecord[] = []
  /** Values of each batch, request by request. */
  readonly requests: string[][][] = []
  closed = 0
  inFlight = 0
  mostInFlight = 0
  /** What the broker says about a batch with these values. */
  refuse: (values: readonly string[]) => KdlqError | null = () => null
  /** Held requests wait for this. */
  gate: Promise<void> = Promise.resolve()

  async produce(batches: readonly OutgoingBatch[]): Promise<readonly ProduceResult[]> {
    this.inFlight++
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight)
    const read = batches.map(batch => ({batch, records: recordsOf(batch)}))
    this.requests.push(read.map(({records}) => records.map(({value}) => value ?? 'null')))
    await this.gate
    this.inFlight--
    return read.map(({batch: {topic, partition}, records}) => {
      const error = this.refuse(records.map(({value}) => value ?? 'null'))
      if (error === null) this.records.push(...records)
      return {topic, partition, baseOffset: error === null ? 0n : null, logAppendTimeMs: null, error, recordErrors: []}
    })
  }

  async close(): Promise<void> {
    this.closed++
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function recordsOf({topic, partition, records}: OutgoingBatch): ProducedRecord[] {
  const cursor = records.view({baseOffset: 0n, timestampType: 'CreateTime'}).cursor()
  const found: ProducedRecord[] = []
  while (cursor.next()) {
    const {timestamp, value} = cursor.toRecord(topic, partition)
    found.push({topic, partition, timestamp, value: value === null ? null : value.toString('utf8')})
  }
  return found
}
