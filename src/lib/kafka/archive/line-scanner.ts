import type {FileHandle} from 'node:fs/promises'

const CHUNK_BYTES = 262_144
const NEWLINE = 10

/** Lines that lie in one piece of a file. The bytes are valid until the next piece. */
export interface LineChunk {
  /** Without line end; null = longer than the limit. */
  readonly lines: readonly (Buffer | null)[]
  /** Position of each line in the file, and one more: where the last one ends, its line end included. */
  readonly positions: readonly number[]
}

/**
 * Read a part of a file line by line in bounded memory. The last line need not have a line end.
 * @param maxLineBytes a longer line is passed over, as null
 */
export async function* scanLines(
  handle: FileHandle,
  from: number,
  to: number,
  maxLineBytes: number,
  signal?: AbortSignal,
): AsyncGenerator<LineChunk, void, undefined> {
  const chunk = Buffer.allocUnsafeSlow(Math.max(1, Math.min(CHUNK_BYTES, to - from)))
  /** What was read of a line whose end is not there yet. */
  let rest: Buffer[] = []
  let restBytes = 0
  let lineStart = from
  let position = from
  while (position < to) {
    signal?.throwIfAborted()
    const {bytesRead} = await handle.read(chunk, 0, Math.min(chunk.length, to - position), position)
    if (bytesRead === 0) break
    const bytes = chunk.subarray(0, bytesRead)
    const lines: (Buffer | null)[] = []
    const positions: number[] = []
    let start = 0
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      positions.push(lineStart)
      const tooLong = restBytes + (end - start) > maxLineBytes
      const tail = bytes.subarray(start, end)
      lines.push(tooLong ? null : restBytes === 0 ? tail : Buffer.concat([...rest, tail]))
      rest = []
      restBytes = 0
      start = end + 1
      lineStart = position + start
    }
    if (start < bytesRead) {
      restBytes += bytesRead - start
      if (restBytes > maxLineBytes) rest = []
      else rest.push(Buffer.from(bytes.subarray(start)))
    }
    position += bytesRead
    if (lines.length > 0) yield {lines, positions: [...positions, lineStart]}
  }
  if (restBytes > 0) {
    yield {lines: [restBytes > maxLineBytes ? null : Buffer.concat(rest)], positions: [lineStart, position]}
  }
}
