/** Where the records of an archive lie: one pass over all lines, so that every broken line is found before work begins. */
import {IoError, type KdlqError} from '../../errors.ts'
import type {Offset} from '../record.ts'
import {MAX_LINE_BYTES, type ArchiveFile} from './archive-file.ts'
import {archiveLineError, checkArchiveLine, type RecordPlace} from './line-codec.ts'
import {scanLines} from './line-scanner.ts'

/** A run is cut here, so that a read can begin near any offset. */
const RUN_BYTES = 1_048_576
/** Bound of the index, some 200 MB: runs in order take one entry a mebibyte, lines in disorder one each. */
const MAX_RUNS = 1_000_000
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Neighbouring lines of one partition with ascending offsets. */
export interface Run {
  readonly file: ArchiveFile
  readonly start: number
  end: number
  /** Null = added since the file was indexed. */
  readonly firstLine: number | null
  readonly firstOffset: Offset
  lastOffset: Offset
  /** Epoch ms, -1 = none of them has a time. */
  maxTimestamp: bigint
}

export interface IndexedPartition {
  readonly topic: string
  readonly partition: number
  /** By offset, none overlapping. */
  runs: Run[]
}

/** By topic, then partition. */
export type ArchiveIndex = Map<string, Map<number, IndexedPartition>>

export interface IndexOptions {
  /** Called once a broken line; may throw it to end the scan. */
  readonly onBadLine: (error: KdlqError) => void
  readonly signal?: AbortSignal | undefined
}

/**
 * Index all lines of all files. Lines may come in any order; a second line for the same offset is a broken line.
 * @throws IoError `E_ARCHIVE_ORDER` if the lines are in such disorder that the index would pass its bound
 */
export async function indexArchive(files: readonly ArchiveFile[], options: IndexOptions): Promise<ArchiveIndex> {
  const index: ArchiveIndex = new Map()
  const builder = new RunBuilder(index)
  for (const file of files) {
    await scanRecords(file, options, (record, line) => builder.add(file, record, line, RUN_BYTES))
  }
  const disordered = sortRuns(index)
  if (disordered.size > 0) await indexByLine(files, index, disordered, options)
  return index
}

interface LinePlace {
  readonly start: number
  readonly end: number
  readonly number: number
}

async function scanRecords(
  file: ArchiveFile,
  options: IndexOptions,
  onRecord: (record: RecordPlace, line: LinePlace) => void,
): Promise<void> {
  let number = 0
  for await (const {lines, positions} of scanLines(file.handle, 0, file.size, MAX_LINE_BYTES, options.signal)) {
    for (let index = 0; index < lines.length; index++) {
      number++
      const line = lines[index]
      try {
        if (line === null || line === undefined) throw archiveLineError('it is too long', number, file.name)
        const text = stripMark(line, number)
        if (isBlank(text)) continue
        const record = checkArchiveLine(text, number, file.name)
        onRecord(record, {start: positions[index] ?? 0, end: positions[index + 1] ?? file.size, number})
      } catch (error) {
        if (!(error instanceof IoError) || error.code !== 'E_ARCHIVE_LINE') throw error
        options.onBadLine(error)
      }
    }
  }
}

/** A line without the byte order mark that some editors and shells put in front of a file. */
export function stripMark(line: Buffer, lineNumber: number): Buffer {
  return lineNumber === 1 && line.subarray(0, 3).equals(BYTE_ORDER_MARK) ? line.subarray(3) : line
}

/** True for an empty line, also with the CR of a CRLF line end. */
export function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length < 80 && line.toString('latin1').trim() === '')
}

/** Add lines that were appended behind the last offset of their partition. */
export function addRun(index: ArchiveIndex, topic: string, partition: number, run: Run): void {
  partitionOf(index, topic, partition).runs.push(run)
}

function partitionOf(index: ArchiveIndex, topic: string, partition: number): IndexedPartition {
  let partitions = index.get(topic)
  if (partitions === undefined) {
    partitions = new Map<number, IndexedPartition>()
    index.set(topic, partitions)
  }
  let entry = partitions.get(partition)
  if (entry === undefined) {
    entry = {topic, partition, runs: []}
    partitions.set(partition, entry)
  }
  return entry
}

class RunBuilder {
  readonly #index: ArchiveIndex
  #runs = 0
  #last: {run: Run; owner: IndexedPartition} | null = null

  constructor(index: ArchiveIndex) {
    this.#index = index
  }

  add(file: ArchiveFile, record: RecordPlace, line: LinePlace, runBytes: number): void {
    const owner = partitionOf(this.#index, record.topic, record.partition)
    const timestamp = record.timestamp ?? -1n
    const last = this.#last
    if (
      last !== null &&
      last.owner === owner &&
      last.run.file === file &&
      last.run.end === line.start &&
      last.run.lastOffset < record.offset &&
      line.end - last.run.start <= runBytes
    ) {
      last.run.end = line.end
      last.run.lastOffset = record.offset
      if (timestamp > last.run.maxTimestamp) last.run.maxTimestamp = timestamp
      return
    }
    if (++this.#runs > MAX_RUNS) {
      throw new IoError('the lines of the archive are in too much disorder', {
        code: 'E_ARCHIVE_ORDER',
        hints: ['sort the lines by topic, partition and offset first'],
        context: {maxRuns: MAX_RUNS},
      })
    }
    const run: Run = {
      file,
      start: line.start,
      end: line.end,
      firstLine: line.number,
      firstOffset: record.offset,
      lastOffset: record.offset,
      maxTimestamp: timestamp,
    }
    owner.runs.push(run)
    this.#last = {run, owner}
  }
}

/** Sort the runs of each partition. @returns the partitions whose runs overlap */
function sortRuns(index: ArchiveIndex): Set<IndexedPartition> {
  const overlapping = new Set<IndexedPartition>()
  for (const partitions of index.values()) {
    for (const entry of partitions.values()) {
      entry.runs.sort(byOffset)
      let previous: Run | undefined
      for (const run of entry.runs) {
        if (previous !== undefined && previous.lastOffset >= run.firstOffset) overlapping.add(entry)
        previous = run
      }
    }
  }
  return overlapping
}

/** Index the overlapping partitions again with one run a line; then the order is right whatever the file's was. */
async function indexByLine(
  files: readonly ArchiveFile[],
  index: ArchiveIndex,
  disordered: ReadonlySet<IndexedPartition>,
  options: IndexOptions,
): Promise<void> {
  const byLine: ArchiveIndex = new Map()
  const builder = new RunBuilder(byLine)
  const quiet: IndexOptions = {...options, onBadLine: () => undefined}
  for (const file of files) {
    await scanRecords(file, quiet, (record, line) => {
      const entry = index.get(record.topic)?.get(record.partition)
      if (entry !== undefined && disordered.has(entry)) builder.add(file, record, line, 0)
    })
  }
  for (const entry of disordered) {
    const runs = byLine.get(entry.topic)?.get(entry.partition)?.runs ?? []
    runs.sort(byOffset)
    entry.runs = []
    let previous: Run | undefined
    for (const run of runs) {
      if (previous?.firstOffset === run.firstOffset) {
        const reason = `${entry.topic}:${entry.partition}:${run.firstOffset} comes a second time`
        options.onBadLine(archiveLineError(reason, run.firstLine ?? 0, run.file.name))
      } else {
        entry.runs.push(run)
        previous = run
      }
    }
  }
}

/** Stable: of two lines with one offset the earlier one stays in front. */
function byOffset(a: Run, b: Run): number {
  return a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0
}
