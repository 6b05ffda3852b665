import type {ReadNotice, ReadRange, ReadRequest, RecordBlock} from '../../../../../src/lib/kafka/ports.ts'
import {fetchApi} from '../../../../../src/lib/kafka/protocol/generated/fetch.ts'
import {recordsIn} from '../../../../../src/lib/kafka/records/records-in.ts'
import {batchAt, fakeCluster, fetchAnswer, FakeLog, topic} from '../fake-transport.ts'
import type {FakeCluster} from '../fake-transport.ts'

export interface ReadFixture extends FakeCluster {
  readonly logs: readonly FakeLog[]
}

/** A topic `t` whose partitions are these logs, all led by broker 1. */
export function readFixture(logs: readonly FakeLog[], options?: Parameters<typeof fakeCluster>[0]): ReadFixture {
  const fixture = {...fakeCluster(options), logs}
  fixture.transport.topics = [topic('t', logs.length)]
  fixture.transport.on(fetchApi, body => answerFrom(logs, body))
  return fixture
}

export function answerFrom(
  logs: readonly FakeLog[],
  body: Parameters<typeof fetchAnswer>[0],
): ReturnType<typeof fetchAnswer> {
  return fetchAnswer(body, (partition, offset, maxBytes) => (logs[partition] ?? new FakeLog()).read(offset, maxBytes))
}

/** A log of `count` batches of one record each, its values `<name><offset>`. */
export function logOf(count: number, name = 'v', valueBytes = 0): FakeLog {
  const log = new FakeLog()
  for (let offset = 0; offset < count; offset++) {
    log.append(batchAt({base: BigInt(offset), values: [`${name}${offset}`.padEnd(valueBytes, '.')]}))
  }
  return log
}

export function range(partition: number, to: bigint | null, from = 0n): ReadRange {
  return {topic: 't', partition, from, to}
}

export function request(ranges: readonly ReadRange[], other: Partial<ReadRequest> = {}): ReadRequest {
  return {ranges, isolationLevel: 'read_uncommitted', order: 'arrival', ...other}
}

export interface Collected {
  /** `partition:offset=value` in the order of arrival. */
  readonly records: readonly string[]
  readonly notices: readonly ReadNotice[]
  readonly blocks: readonly RecordBlock[]
}

export async function collect(blocks: AsyncIterable<RecordBlock>): Promise<Collected> {
  const all: RecordBlock[] = []
  const records: string[] = []
  for await (const block of blocks) {
    all.push(block)
    records.push(...valuesOf(block))
  }
  return {records, notices: all.flatMap(({notices}) => notices), blocks: all}
}

export function valuesOf(block: RecordBlock): string[] {
  const values: string[] = []
  for (const cursor of recordsIn(block)) {
    const value = cursor.bytes.toString('utf8', cursor.valueStart, cursor.valueStart + cursor.valueLength)
    values.push(`${block.partition}:${cursor.offset}=${value}`)
  }
  return values
}
