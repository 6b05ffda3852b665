import type {LedgerRecord} from './types.ts'

/** Longest line that is looked at, bytes: a document of 256 MiB with every character escaped does not come near it. */
const MAX_LINE = 512 * 1024 * 1024

/** One line of a ledger file, or what was there instead of one. */
export interface LedgerLine {
  /** Null when the line is not ours. */
  readonly record: Pick<LedgerRecord, 'key' | 'value'> | null
  /** Byte behind its line end. */
  readonly end: number
}

/**
 * A record as a line: `{"key":...,"value":...}`. A value that is a JSON object in the topic is one here too; other bytes
 * (pieces of a document) are a string, and null deletes the key.
 */
export function formatLedgerLine({key, value}: Pick<LedgerRecord, 'key' | 'value'>): string {
  if (value === null) return `${JSON.stringify({key, value: null})}\n`
  const text = typeof value === 'string' ? value : value.toString('utf8')
  const isPiece = typeof value !== 'string'
  return `{"key":${JSON.stringify(key)},"value":${isPiece ? JSON.stringify(text) : text}}\n`
}

/**
 * Read lines from the bytes of a ledger file. What follows the last line end is a torn line and is left out.
 * @param from byte that the first line begins at; added to every `end`
 */
export function* parseLedgerLines(bytes: Buffer, from = 0): Generator<LedgerLine, void, undefined> {
  let start = 0
  for (;;) {
    const newline = bytes.indexOf(0x0a, start)
    if (newline < 0) return
    yield {record: parseLine(bytes.subarray(start, newline)), end: from + newline + 1}
    start = newline + 1
  }
}

function parseLine(bytes: Buffer): LedgerLine['record'] {
  if (bytes.length > MAX_LINE) return null
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
  if (typeof json !== 'object' || json === null || !('key' in json) || !('value' in json)) return null
  const {key, value} = json
  if (typeof key !== 'string') return null
  if (value === null) return {key, value: null}
  if (typeof value === 'string') return {key, value: Buffer.from(value)}
  return {key, value: JSON.stringify(value)}
}
