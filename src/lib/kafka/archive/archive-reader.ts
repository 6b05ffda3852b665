import {IoError, KafkaError} from '../../errors.ts'
import type {
  CallOptions,
  ClusterReader,
  OffsetAnswer,
  OffsetQuery,
  ReadNotice,
  ReadRange,
  ReadRequest,
  RecordBlock,
  TopicDescription,
} from '../ports.ts'
import type {KafkaRecord, Offset} from '../record.ts'
import {RecordBatchBuilder} from '../records/batch-builder.ts'
import type {RecordBatchView} from '../records/types.ts'
import {isBlank, stripMark, type ArchiveIndex, type IndexedPartition, type Run} from './archive-index.ts'
import {MAX_LINE_BYTES} from './archive-file.ts'
import {parseArchiveLine} from './line-codec.ts'
import {scanLines} from './line-scanner.ts'

/** A block is handed on when it holds this much. */
const BLOCK_BYTES = 1_048_576
const MAX_OFFSET_DELTA = 2_147_483_647n

/** What the reader needs to know of the archive; asked for again at each call, since a writer may have added to it. */
export interface ArchiveContents {
  readonly index: ArchiveIndex
  /** Topics without records and their partition counts. */
  readonly empty: ReadonlyMap<string, number>
}

/**
 * Reads an archive like a cluster. Differs: `arrival` is the order of `partition`; a range without an end stops at the
 * archive's; the read rate is not applied, since no broker is spared by it; every record is committed.
 */
export class ArchiveReader implements ClusterReader {
  readonly #contents: () => Promise<ArchiveContents>

  constructor(contents: () => Promise<ArchiveContents>) {
    this.#contents = contents
  }

  async topics(names: readonly string[] | null): Promise<readonly TopicDescription[]> {
    const contents = await this.#contents()
    const known = [...new Set([...contents.index.keys(), ...contents.empty.keys()])].sort()
    return (names ?? known).map(name => describeTopic(contents, name))
  }

  async offsets(queries: readonly OffsetQuery[], options: CallOptions = {}): Promise<readonly OffsetAnswer[]> {
    const contents = await this.#contents()
    const answers: OffsetAnswer[] = []
    for (const {topic, partition, at} of queries) {
      const entry = findPartition(contents, topic, partition)
      if (entry === null) {
        answers.push({topic, partition, offset: null, error: unknownPartition(topic, partition)})
      } else {
        const offset =
          typeof at === 'object'
            ? await offsetAtTime(entry, at.timestampMs, options.signal)
            : at === 'earliest'
              ? earliest(entry)
              : latest(entry)
        answers.push({topic, partition, offset, error: null})
      }
    }
    return answers
  }

  async *read(request: ReadRequest, options: CallOptions = {}): AsyncGenerator<RecordBlock, void, undefined> {
    const contents = await this.#contents()
    const assembler = new BlockAssembler()
    for (const range of request.ranges) {
      const entry = findPartition(contents, range.topic, range.partition)
      if (entry === null) yield missingPartition(range)
      else yield* readRange(range, entry, assembler, options.signal)
    }
  }
}

async function* readRange(
  range: ReadRange,
  entry: IndexedPartition,
  assembler: BlockAssembler,
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordBlock, void, undefined> {
  const start = earliest(entry)
  const end = latest(entry)
  const to = range.to ?? end
  const notices: ReadNotice[] = []
  if (range.from < start) notices.push({kind: 'gap', from: range.from, to: start < to ? start : to})
  assembler.begin(range)
  for (const run of entry.runs) {
    if (run.lastOffset < range.from) continue
    if (run.firstOffset >= to) break
    for await (const {record, bytes} of readRun(run, entry, signal)) {
      if (record.offset < range.from) continue
      if (record.offset >= to) break
      if (assembler.isFull) yield assembler.take(record.offset, notices.splice(0), false)
      assembler.add(record, bytes)
    }
  }
  signal?.throwIfAborted()
  if (to > end) notices.push({kind: 'incomplete', at: end, reason: 'truncated', error: null})
  const reached = to > end ? end : to
  yield assembler.take(reached < range.from ? range.from : reached, notices, true)
}

async function* readRun(
  run: Run,
  entry: IndexedPartition,
  signal: AbortSignal | undefined,
): AsyncGenerator<{record: KafkaRecord; bytes: number}, void, undefined> {
  let number = run.firstLine === null ? 1 : run.firstLine - 1
  for await (const {lines, positions} of scanLines(run.file.handle, run.start, run.end, MAX_LINE_BYTES, signal)) {
    for (const [index, line] of lines.entries()) {
      number++
      if (line === null) throw changed(run)
      const text = stripMark(line, number)
      if (isBlank(text)) continue
      const record = parseLine(text, number, run)
      if (record.topic !== entry.topic || record.partition !== entry.partition) throw changed(run)
      yield {record, bytes: (positions[index + 1] ?? 0) - (positions[index] ?? 0)}
    }
  }
}

/** Every line was read once before: what is broken now has changed. */
function parseLine(text: Buffer, number: number, run: Run): KafkaRecord {
  try {
    return parseArchiveLine(text, number, run.file.name)
  } catch (cause) {
    throw changed(run, cause)
  }
}

interface Part {
  readonly builder: RecordBatchBuilder
  baseOffset: Offset
  timestampType: KafkaRecord['timestampType']
  lastOffset: Offset
}

/** Collects records into the batches of one block; its buffers are used again for the next block. */
class BlockAssembler {
  readonly #pool: Part[] = []
  #parts = 0
  #size = 0
  #bytes = 0
  #range: ReadRange | null = null

  begin(range: ReadRange): void {
    this.#range = range
    this.#clear()
  }

  get isFull(): boolean {
    return this.#size >= BLOCK_BYTES
  }

  add(record: KafkaRecord, bytes: number): void {
    const part = this.#partFor(record)
    const before = part.builder.sizeInBytes
    part.builder.append(record, Number(record.offset - part.baseOffset))
    part.lastOffset = record.offset
    this.#size += part.builder.sizeInBytes - before
    this.#bytes += bytes
  }

  take(nextOffset: Offset, notices: readonly ReadNotice[], done: boolean): RecordBlock {
    const range = this.#range ?? {topic: '', partition: 0, from: 0n, to: null}
    const batches: RecordBatchView[] = this.#pool.slice(0, this.#parts).map(part => part.builder.view(part))
    const block: RecordBlock = {
      topic: range.topic,
      partition: range.partition,
      batches,
      from: range.from,
      to: range.to,
      nextOffset,
      bytes: this.#bytes,
      controlRecords: 0,
      abortedRecords: 0,
      notices: [...notices],
      throttleMs: 0,
      done,
    }
    this.#clear()
    return block
  }

  #clear(): void {
    this.#parts = 0
    this.#size = 0
    this.#bytes = 0
  }

  /** The batch that this record can join, else the next one of the pool. */
  #partFor(record: KafkaRecord): Part {
    const current = this.#parts === 0 ? undefined : this.#pool[this.#parts - 1]
    if (
      current !== undefined &&
      current.timestampType === record.timestampType &&
      record.offset - current.baseOffset <= MAX_OFFSET_DELTA
    ) {
      return current
    }
    const fresh = {baseOffset: record.offset, lastOffset: record.offset, timestampType: record.timestampType}
    let part = this.#pool[this.#parts]
    if (part === undefined) this.#pool.push((part = {builder: new RecordBatchBuilder(), ...fresh}))
    else Object.assign(part, fresh)
    this.#parts++
    part.builder.reset()
    return part
  }
}

async function offsetAtTime(
  entry: IndexedPartition,
  timestampMs: bigint,
  signal: AbortSignal | undefined,
): Promise<Offset | null> {
  for (const run of entry.runs) {
    if (run.maxTimestamp < timestampMs) continue
    for await (const {record} of readRun(run, entry, signal)) {
      if (record.timestamp !== null && record.timestamp >= timestampMs) return record.offset
    }
  }
  return null
}

function earliest(entry: IndexedPartition): Offset {
  return entry.runs[0]?.firstOffset ?? 0n
}

function latest(entry: IndexedPartition): Offset {
  const last = entry.runs.at(-1)
  return last === undefined ? 0n : last.lastOffset + 1n
}

function findPartition(contents: ArchiveContents, topic: string, partition: number): IndexedPartition | null {
  const entry = contents.index.get(topic)?.get(partition)
  if (entry !== undefined) return entry
  return partition < (contents.empty.get(topic) ?? 0) ? {topic, partition, runs: []} : null
}

function describeTopic(contents: ArchiveContents, name: string): TopicDescription {
  const indexed = contents.index.get(name)
  const emptyCount = contents.empty.get(name)
  const known = indexed !== undefined || emptyCount !== undefined
  const partitions = new Set(indexed?.keys() ?? [])
  for (let partition = 0; partition < (emptyCount ?? 0); partition++) partitions.add(partition)
  return {
    name,
    id: null,
    internal: false,
    partitions: [...partitions].sort((a, b) => a - b).map(partition => ({partition, leader: null, error: null})),
    error: known ? null : unknownTopic(name),
  }
}

/** The error for a topic that the archive does not hold. */
export function unknownTopic(topic: string): KafkaError {
  return new KafkaError('the archive has no such topic', {
    code: 'E_UNKNOWN_TOPIC_OR_PARTITION',
    context: {topic},
  })
}

function unknownPartition(topic: string, partition: number): KafkaError {
  return new KafkaError('the archive has no such partition', {
    code: 'E_UNKNOWN_TOPIC_OR_PARTITION',
    context: {topic, partition},
  })
}

function missingPartition(range: ReadRange): RecordBlock {
  const error = unknownPartition(range.topic, range.partition)
  return {
    topic: range.topic,
    partition: range.partition,
    batches: [],
    from: range.from,
    to: range.to,
    nextOffset: range.from,
    bytes: 0,
    controlRecords: 0,
    abortedRecords: 0,
    notices: [{kind: 'incomplete', at: range.from, reason: 'unavailable', error}],
    throttleMs: 0,
    done: true,
  }
}

function changed(run: Run, cause?: unknown): IoError {
  return new IoError(`${run.file.name} has changed while it was read`, {code: 'E_ARCHIVE_CHANGED', cause})
}
