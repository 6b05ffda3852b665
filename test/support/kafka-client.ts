import {connectCluster} from '../../src/lib/kafka/client/index.ts'
import type {ConnectOptions, KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import {createKafkaTransport} from '../../src/lib/kafka/client/kafkajs-transport.ts'
import {parseBootstrapServers, PLAINTEXT} from '../../src/lib/kafka/client/security.ts'
import type {ConnectionConfig} from '../../src/lib/kafka/client/security.ts'
import type {IsolationLevel, OffsetPoint, ReadNotice, ReadRange, RecordBlock} from '../../src/lib/kafka/ports.ts'
import type {Api} from '../../src/lib/kafka/protocol/types.ts'
import {WireReader, WireWriter} from '../../src/lib/kafka/protocol/wire.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'

export function plainConfig(bootstrapServers: string, other: Partial<ConnectionConfig> = {}): ConnectionConfig {
  return {
    ...PLAINTEXT,
    bootstrapServers: parseBootstrapServers(bootstrapServers),
    clientId: 'kdlq-test',
    timeoutMs: 10_000,
    requestTimeoutMs: 10_000,
    ...other,
  }
}

export function connectPlain(
  bootstrapServers: string,
  options: ConnectOptions & {config?: Partial<ConnectionConfig>} = {},
): Promise<KafkaCluster> {
  const {config, ...rest} = options
  return connectCluster(plainConfig(bootstrapServers, config), rest)
}

/** Frozen ranges of partitions 0 to before `partitions`, from the first offset kept up to `to`. */
export async function wholeTopic(
  {reader}: KafkaCluster,
  topic: string,
  partitions: number,
  to: OffsetPoint = 'last-stable',
): Promise<ReadRange[]> {
  const all = Array.from({length: partitions}, (_, partition) => ({topic, partition}))
  const starts = await reader.offsets(all.map(place => ({...place, at: 'earliest'})))
  const ends = await reader.offsets(all.map(place => ({...place, at: to})))
  return all.map((place, index) => {
    const [from, end] = [starts[index], ends[index]]
    if (from?.offset == null || end?.offset == null) throw from?.error ?? end?.error ?? new Error('no offset')
    return {...place, from: from.offset, to: end.offset}
  })
}

export interface ReadAll {
  readonly records: readonly KafkaRecord[]
  readonly notices: readonly ReadNotice[]
  readonly blocks: readonly RecordBlock[]
}

/** Everything in these ranges, copied out; `onBlock` runs while the read waits. */
export async function readAll(
  {reader}: KafkaCluster,
  ranges: readonly ReadRange[],
  isolationLevel: IsolationLevel = 'read_committed',
  onBlock: (block: RecordBlock) => Promise<void> | void = () => undefined,
): Promise<ReadAll> {
  const records: KafkaRecord[] = []
  const blocks: RecordBlock[] = []
  for await (const block of reader.read({ranges, isolationLevel, order: 'arrival'})) {
    for (const cursor of recordsIn(block)) records.push(cursor.toRecord(block.topic, block.partition))
    blocks.push(block)
    await onBlock(block)
  }
  return {records, blocks, notices: blocks.flatMap(({notices}) => notices)}
}

/** By partition and offset. */
export function sorted(records: readonly KafkaRecord[]): KafkaRecord[] {
  return records.toSorted((a, b) => a.partition - b.partition || Number(a.offset - b.offset))
}

interface Quota {
  readonly clientId: string
  /** Null removes it. */
  readonly bytesPerSecond: number | null
}

/** AlterClientQuotas v0 for one client id (KIP-546). */
const quotaApi: Api<Quota, number> = {
  name: 'AlterClientQuotas',
  key: 49,
  versions: {min: 0, max: 0},
  flexibleFrom: 1,
  encode({clientId, bytesPerSecond}) {
    const value = Buffer.alloc(8)
    value.writeDoubleBE(bytesPerSecond ?? 0)
    const w = new WireWriter(false)
    w.array([clientId], name => {
      w.array([name], entity => {
        w.string('client-id')
        w.nullableString(entity)
      })
      w.array(['consumer_byte_rate', 'producer_byte_rate'], key => {
        w.string(key)
        w.int64(value.readBigInt64BE())
        w.bool(bytesPerSecond === null)
      })
    })
    w.bool(false)
    return w.finish()
  },
  decode(payload) {
    const r = new WireReader(payload, false)
    r.int32()
    return (
      r.array(() => {
        const code = r.int16()
        r.nullableString()
        r.array(() => [r.string(), r.nullableString()])
        return code
      })[0] ?? 0
    )
  },
}

/** Bound what clients with this id may read and write. */
export async function setQuota(bootstrapServers: string, quota: Quota): Promise<void> {
  await using transport = createKafkaTransport(plainConfig(bootstrapServers))
  await transport.connect()
  const {body} = await transport.send('any', quotaApi, quota)
  if (body !== 0) throw new Error(`the broker refused the quota with code ${body}`)
}
