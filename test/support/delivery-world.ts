import {expect} from 'vitest'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'
import type {ArchiveRecord} from '../../sandbox/archive-record.ts'
import {readAll, wholeTopic} from './kafka-client.ts'
import {connectSet} from './replay-letters.ts'
import {bytesOf, eventually, unique} from './sandbox.ts'

const FOR_EVER = {'retention.ms': '-1'}
export const TARGET_PARTITIONS = 4
const DLQ_PARTITIONS = 3
/** Partitions of a ledger that kdlq makes. */
const LEDGER_PARTITIONS = 12

/** A dead letter topic of three partitions, the topic of four that its records came from, and a ledger that is not there. */
export interface DeliveryWorld {
  readonly cluster: KafkaCluster
  readonly bootstrapServers: string
  readonly origin: string
  readonly dlq: string
  readonly ledger: string
  readonly records: number
  /** `--ledger topic:NAME` */
  readonly ledgerFlags: readonly string[]
}

export async function createTopic(cluster: KafkaCluster, name: string, partitions: number): Promise<void> {
  await cluster.admin.createTopic({name, partitions, replicationFactor: 1, configs: FOR_EVER})
  await eventually(`topic ${name}`, async () => {
    const [topic] = await cluster.reader.topics([name])
    return topic?.error === null && topic.partitions.every(({leader}) => leader !== null) ? topic : null
  })
}

/** Dead letter `index` says `v-index`, came from partition `index % 4`, and lies in partition `index % 3`. */
export async function deliveryWorld(
  cluster: KafkaCluster,
  bootstrapServers: string,
  records: number,
): Promise<DeliveryWorld> {
  const origin = unique('orders')
  const dlq = `${origin}-dlq`
  const ledger = `${origin}-ledger`
  await createTopic(cluster, origin, TARGET_PARTITIONS)
  await createTopic(cluster, dlq, DLQ_PARTITIONS)
  await writeLetters(cluster, {origin, dlq}, records)
  return {cluster, bootstrapServers, origin, dlq, ledger, records, ledgerFlags: ['--ledger', `topic:${ledger}`]}
}

/** Write dead letters 0 to before `records`; the values begin with `prefix`. */
export async function writeLetters(
  cluster: KafkaCluster,
  {origin, dlq}: {readonly origin: string; readonly dlq: string},
  records: number,
  prefix = 'v-',
): Promise<void> {
  await using session = await cluster.writer.open({
    compression: 'none',
    transactionalId: null,
    deliveryTimeoutMs: 60_000,
  })
  for (let from = 0; from < records; from += 3000) {
    const builders = Array.from({length: DLQ_PARTITIONS}, () => new RecordBatchBuilder())
    for (let index = from; index < Math.min(records, from + 3000); index++) {
      builders[index % DLQ_PARTITIONS]?.append({
        timestamp: 1_700_000_000_000n + BigInt(index),
        key: Buffer.from(`k-${index}`),
        value: Buffer.from(`${prefix}${index}`),
        headers: connectSet(origin, index % TARGET_PARTITIONS, Math.floor(index / TARGET_PARTITIONS)),
      })
    }
    const batches = builders.flatMap((builder, partition) =>
      builder.count === 0 ? [] : [{topic: dlq, partition, records: builder}],
    )
    for (const {error} of await session.produce(batches)) expect(error).toBeNull()
  }
}

/** Counts committed records of the target as they appear; each look reads what is new below the last stable offset. */
export class CommittedRecords {
  readonly #cluster: KafkaCluster
  readonly #topic: string
  readonly #positions = new Map<number, bigint>()
  count = 0
  /** Records of aborted transactions that were passed. */
  aborted = 0

  constructor({cluster, origin}: Pick<DeliveryWorld, 'cluster' | 'origin'>) {
    this.#cluster = cluster
    this.#topic = origin
  }

  async look(): Promise<number> {
    const ranges = (await wholeTopic(this.#cluster, this.#topic, TARGET_PARTITIONS))
      .map(range => ({...range, from: this.#positions.get(range.partition) ?? 0n, to: range.to ?? 0n}))
      .filter(({from, to}) => from < to)
    if (ranges.length === 0) return this.count
    for await (const block of this.#cluster.reader.read({
      ranges,
      isolationLevel: 'read_committed',
      order: 'arrival',
    })) {
      for (const _ of recordsIn(block)) this.count++
      this.aborted += block.abortedRecords
    }
    for (const {partition, to} of ranges) this.#positions.set(partition, to)
    return this.count
  }

  /** Sum of the end offsets, open transactions included. */
  async end(): Promise<bigint> {
    const ranges = await wholeTopic(this.#cluster, this.#topic, TARGET_PARTITIONS, 'latest')
    return ranges.reduce((sum, {to}) => sum + (to ?? 0n), 0n)
  }

  /** Records or markers above the last stable offset: a transaction is open. */
  async isOpen(): Promise<boolean> {
    const places = Array.from({length: TARGET_PARTITIONS}, (_, partition) => ({topic: this.#topic, partition}))
    const [ends, stable] = await Promise.all(
      (['latest', 'last-stable'] as const).map(at =>
        this.#cluster.reader.offsets(places.map(place => ({...place, at}))),
      ),
    )
    return places.some((_, at) => (ends?.[at]?.offset ?? 0n) > (stable?.[at]?.offset ?? 0n))
  }
}

/** Does somebody hold a transaction open in the target or the ledger, as the partitions' leader says (DescribeProducers)? */
export async function hasOpenTransaction({cluster, origin, ledger}: DeliveryWorld): Promise<boolean> {
  const places = [
    ...Array.from({length: TARGET_PARTITIONS}, (_, partition) => ({topic: origin, partition})),
    ...Array.from({length: LEDGER_PARTITIONS}, (_, partition) => ({topic: ledger, partition})),
  ]
  const producers = await Promise.all(
    places.map(({topic, partition}) => cluster.admin.activeProducers(topic, partition)),
  )
  return producers.flat().some(({transactionStartOffset}) => transactionStartOffset !== null)
}

/** An entry as it stands in the ledger topic, read without kdlq's ledger code. */
export interface RawEntry {
  /** `topic:partition:offset` of the dead letter. */
  readonly source: string
  readonly run: string
  readonly state: string
  readonly target: {readonly topic: string; readonly partition: number; readonly offset: string} | null
}

/** Committed entries of the ledger topic, every version of every key. */
export async function rawEntries({cluster, ledger}: DeliveryWorld): Promise<RawEntry[]> {
  const {records} = await readAll(cluster, await wholeTopic(cluster, ledger, LEDGER_PARTITIONS, 'latest'))
  return records.flatMap(({key, value}) => {
    const match = /^[\w-]{22}\|([^|]+:\d+:\d+)\|(r-\w{26})$/.exec(key?.toString() ?? '')
    if (match === null || value === null) return []
    const [, source = '', run = ''] = match
    const {state, target} = JSON.parse(value.toString()) as Pick<RawEntry, 'state' | 'target'>
    return [{source, run, state, target}]
  })
}

/** All values of a topic with their places, as our reader sees them committed. */
export async function committedValues(
  {cluster}: Pick<DeliveryWorld, 'cluster'>,
  topic: string,
  partitions: number,
): Promise<Map<string, string>> {
  const {records} = await readAll(cluster, await wholeTopic(cluster, topic, partitions, 'latest'))
  return new Map(
    records.map(({partition, offset, value}) => [`${topic}:${partition}:${offset}`, value?.toString() ?? '']),
  )
}

/**
 * Each dead letter once in the target, and once in the ledger with the place where it really is.
 * @param theirs the target as Kafka's own consumer read it
 */
export async function expectEachOnce(world: DeliveryWorld, theirs: readonly ArchiveRecord[]): Promise<void> {
  const {origin, dlq, records} = world
  const wanted = Array.from({length: records}, (_, index) => `v-${index}`).toSorted()
  const target = await committedValues(world, origin, TARGET_PARTITIONS)
  expect([...target.values()].toSorted()).toEqual(wanted)
  expect(theirs.map(({value}) => bytesOf(value)?.toString() ?? '').toSorted()).toEqual(wanted)
  const places = theirs.map(({topic, partition, offset}) => `${topic}:${partition}:${offset}`)
  expect(places.toSorted()).toEqual([...target.keys()].toSorted())
  const letters = await committedValues(world, dlq, DLQ_PARTITIONS)
  const replayed = (await rawEntries(world)).filter(({state}) => state === 'replayed')
  expect(replayed.map(({source}) => source).toSorted()).toEqual([...letters.keys()].toSorted())
  const misplaced = replayed.filter(({source, target: at}) => {
    const place = `${at?.topic}:${at?.partition}:${at?.offset}`
    return target.get(place) === undefined || target.get(place) !== letters.get(source)
  })
  expect(misplaced).toEqual([])
}
