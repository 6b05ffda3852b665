import type {Cluster, ClusterReader, RecordBlock, TopicDescription} from '../kafka/ports.ts'
import {isLegalTopicName} from '../kafka/record.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {recordsIn} from '../kafka/records/records-in.ts'
import {planReads} from './from-origin-ranges.ts'

/** One place in a source topic. */
export interface OriginPlace {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** What stands at a place: a record, nothing any more, or nobody can say. */
export type OriginAnswer =
  | {readonly state: 'found'; readonly record: KafkaRecord}
  | {readonly state: 'gone' | 'unknown'; readonly reason: string}

/** A topic that origins were looked for in; `topicId` null where there are none. */
export interface OriginTopic {
  readonly topic: string
  readonly topicId: string | null
}

interface OpenTopic extends OriginTopic {
  readonly reader: ClusterReader
  readonly isArchive: boolean
  readonly partitions: ReadonlySet<number>
}

/** Offsets between two wanted records that are read over rather than asked around, before sizes are known. */
const FIRST_GAP = 100
/** Bytes that one more request is worth. */
const GAP_BYTES = 512 * 1024
const MAX_GAP = 10_000

/**
 * Fetches records by their place, many at once. A topic is looked for in the source of the dead letters first, then where
 * they are sent: dead letters of an archive find their origin in the cluster.
 */
export class OriginReader {
  readonly #clusters: readonly Cluster[]
  readonly #readRate: number | undefined
  readonly #expected: ReadonlyMap<string, string | null>
  readonly #topics = new Map<string, OpenTopic | {readonly state: 'gone' | 'unknown'; readonly reason: string}>()
  /** Of all that was read: how large a record of the source topics is. */
  #bytes = 0
  #records = 0

  /**
   * @param options.expected topic ids that a plan was made with: a topic with another one is another topic
   * @param options.readRate bytes a second
   */
  constructor(
    {source, target}: {readonly source: Cluster; readonly target: Cluster},
    options: {readonly readRate?: number | undefined; readonly expected?: readonly OriginTopic[]} = {},
  ) {
    this.#clusters = source === target ? [source] : [source, target]
    this.#readRate = options.readRate
    this.#expected = new Map((options.expected ?? []).map(({topic, topicId}) => [topic, topicId]))
  }

  /** Topics that were found so far, sorted. */
  topics(): readonly OriginTopic[] {
    return [...this.#topics.values()]
      .flatMap(topic => ('reader' in topic ? [{topic: topic.topic, topicId: topic.topicId}] : []))
      .toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
  }

  /**
   * What stands at each place; same order and length. Reads committed records only, and does not wait for open transactions.
   * @throws what the reader throws when it cannot read at all, the signal's reason
   */
  async fetch(
    places: readonly OriginPlace[],
    options: {readonly signal?: AbortSignal | undefined} = {},
  ): Promise<readonly OriginAnswer[]> {
    await this.#open(places, options)
    const answers = new Map<string, OriginAnswer>()
    const byReader = new Map<OpenTopic['reader'], {isArchive: boolean; places: OriginPlace[]}>()
    for (const place of places) {
      const topic = this.#topics.get(place.topic)
      const missing = whyNot(topic, place)
      if (missing !== null) answers.set(keyOf(place), missing)
      else if (topic !== undefined && 'reader' in topic) {
        const known = byReader.get(topic.reader)
        if (known !== undefined) known.places.push(place)
        else byReader.set(topic.reader, {isArchive: topic.isArchive, places: [place]})
      }
    }
    for (const [reader, {isArchive, places: own}] of byReader) {
      const inside = await within(reader, own, answers, options)
      await this.#read(reader, isArchive, inside, answers, options)
    }
    return places.map(place => answers.get(keyOf(place)) ?? {state: 'gone', reason: nothingAt(place)})
  }

  /** Look up the topics that are not known yet. */
  async #open(places: readonly OriginPlace[], options: {readonly signal?: AbortSignal | undefined}): Promise<void> {
    let names = [...new Set(places.map(({topic}) => topic))].filter(
      name => !this.#topics.has(name) && isLegalTopicName(name),
    )
    for (const cluster of this.#clusters) {
      if (names.length === 0) return
      for (const description of await cluster.reader.topics(names, options)) {
        const {name, error} = description
        if (error === null) this.#topics.set(name, this.#opened(cluster, description))
        else if (error.code !== 'E_UNKNOWN_TOPIC_OR_PARTITION') {
          this.#topics.set(name, {state: 'unknown', reason: error.message})
        }
      }
      names = names.filter(name => !this.#topics.has(name))
    }
    for (const name of names) this.#topics.set(name, {state: 'gone', reason: `there is no topic ${name} any more`})
  }

  #opened(
    {reader, description}: Cluster,
    {name, id, partitions}: TopicDescription,
  ): OpenTopic | {readonly state: 'gone'; readonly reason: string} {
    const expected = this.#expected.get(name) ?? null
    if (expected !== null && id !== null && expected !== id) {
      return {state: 'gone', reason: `topic ${name} was deleted and created again since the plan was made`}
    }
    return {
      topic: name,
      topicId: id,
      reader,
      isArchive: description.kind === 'archive',
      partitions: new Set(partitions.map(({partition}) => partition)),
    }
  }

  async #read(
    reader: ClusterReader,
    isArchive: boolean,
    places: readonly OriginPlace[],
    answers: Map<string, OriginAnswer>,
    {signal}: {readonly signal?: AbortSignal | undefined},
  ): Promise<void> {
    const wanted = [...Map.groupBy(places, ({topic, partition}) => `${partition} ${topic}`).values()].flatMap(group => {
      const [first] = group
      return first === undefined ? [] : [{...first, offsets: group.map(({offset}) => offset)}]
    })
    const asked = new Map(wanted.map(({topic, partition, offsets}) => [`${partition} ${topic}`, new Set(offsets)]))
    // An archive is read from the start of a run of lines anyway.
    const maxGap = isArchive ? Number.MAX_SAFE_INTEGER : this.#maxGap()
    for (const ranges of planReads(wanted, maxGap)) {
      const blocks = reader.read(
        {ranges, isolationLevel: 'read_committed', order: 'arrival', readRate: this.#readRate, waitForStableMs: 0},
        {signal},
      )
      for await (const block of blocks) this.#take(block, asked, answers)
    }
  }

  /** Copy the wanted records out of a block, and note what it says about others. */
  #take(block: RecordBlock, asked: ReadonlyMap<string, ReadonlySet<bigint>>, answers: Map<string, OriginAnswer>): void {
    const {topic, partition} = block
    const offsets = asked.get(`${partition} ${topic}`) ?? new Set<bigint>()
    const note = (from: bigint, to: bigint, answer: OriginAnswer): void => {
      for (const offset of offsets) {
        const key = keyOf({topic, partition, offset})
        if (offset >= from && offset < to && !answers.has(key)) answers.set(key, answer)
      }
    }
    this.#bytes += block.bytes
    const cursors = recordsIn(block, (batch, error) =>
      note(batch.baseOffset, batch.lastOffset + 1n, {state: 'unknown', reason: error.message}),
    )
    for (const cursor of cursors) {
      this.#records++
      if (!offsets.has(cursor.offset)) continue
      const record = cursor.toRecord(topic, partition)
      answers.set(keyOf(record), {state: 'found', record})
    }
    for (const notice of block.notices) {
      if (notice.kind === 'undecodable') {
        note(notice.from, notice.to, {state: 'unknown', reason: notice.error.message})
      } else if (notice.kind === 'incomplete') {
        const isOver = notice.reason !== 'open-transaction' && notice.reason !== 'unavailable'
        const reason = `${topic}:${partition} could be read up to ${notice.at}: ${WORDS[notice.reason]}`
        note(notice.at, block.to ?? notice.at, {state: isOver ? 'gone' : 'unknown', reason})
      }
    }
  }

  #maxGap(): number {
    if (this.#records === 0) return FIRST_GAP
    return Math.min(MAX_GAP, Math.floor(GAP_BYTES / Math.max(1, this.#bytes / this.#records)))
  }
}

const WORDS = {
  truncated: 'the log ends there',
  recreated: 'the topic was created again',
  deleted: 'the topic was deleted',
  'open-transaction': 'a transaction is open there',
  unavailable: 'the partition has no leader',
} as const

/** Why there is nothing to ask for at a place; null = ask. */
function whyNot(
  topic: OpenTopic | {readonly state: 'gone' | 'unknown'; readonly reason: string} | undefined,
  {topic: name, partition, offset}: OriginPlace,
): OriginAnswer | null {
  if (topic === undefined) return {state: 'unknown', reason: `${JSON.stringify(name)} is no legal topic name`}
  if (!('reader' in topic)) return topic
  if (!topic.partitions.has(partition)) return {state: 'gone', reason: `${name} has no partition ${partition}`}
  return offset < 0n ? {state: 'unknown', reason: `offset ${offset} names no record`} : null
}

/** The places inside their partition's log; what lies outside is answered. */
async function within(
  reader: ClusterReader,
  places: readonly OriginPlace[],
  answers: Map<string, OriginAnswer>,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<OriginPlace[]> {
  const partitions = [...Map.groupBy(places, ({topic, partition}) => `${partition} ${topic}`).values()]
  const ends = await reader.offsets(
    partitions.flatMap(([first]) =>
      first === undefined ? [] : (['earliest', 'latest'] as const).map(at => ({...first, at})),
    ),
    options,
  )
  return partitions.flatMap((group, index) => {
    const [earliest, latest] = [ends[index * 2], ends[index * 2 + 1]]
    const error = earliest?.error ?? latest?.error ?? null
    return group.filter(place => {
      const {topic, partition, offset} = place
      if (error !== null) answers.set(keyOf(place), {state: 'unknown', reason: error.message})
      else if (earliest?.offset != null && offset < earliest.offset) {
        const reason = `${topic}:${partition} begins at ${earliest.offset}: the record was deleted`
        answers.set(keyOf(place), {state: 'gone', reason})
      } else if (latest?.offset != null && offset >= latest.offset) {
        const reason = `${topic}:${partition} ends at ${latest.offset}: the topic was created again or cut off`
        answers.set(keyOf(place), {state: 'gone', reason})
      } else return true
      return false
    })
  })
}

function nothingAt(place: OriginPlace): string {
  return `there is no record at ${keyOf(place)}: compacted away, or never committed`
}

function keyOf({topic, partition, offset}: OriginPlace): string {
  return `${topic}:${partition}:${offset}`
}
