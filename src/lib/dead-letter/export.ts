import type {ArchiveWriter, WrittenFile} from '../kafka/archive/index.ts'
import type {DeadLetter} from './model.ts'

export interface ExportResult {
  readonly records: number
  readonly files: readonly WrittenFile[]
}

/**
 * Writes records as an archive that appears whole or not at all.
 * @param onRecord called after each record with the count so far
 * @throws the signal's reason, and what the scan and the writer throw; nothing is left then
 */
export async function exportRecords(
  records: AsyncIterable<Pick<DeadLetter, 'record'>>,
  writer: ArchiveWriter,
  options: {readonly signal?: AbortSignal | undefined; readonly onRecord?: ((count: number) => void) | undefined} = {},
): Promise<ExportResult> {
  await using open = writer
  let count = 0
  for await (const {record} of records) {
    options.signal?.throwIfAborted()
    const full = open.write(record)
    if (full !== undefined) await full
    count += 1
    options.onRecord?.(count)
  }
  return {records: count, files: await open.commit()}
}
