import {isUtf8} from 'node:buffer'
import {cutToWidth} from './width.ts'
import {sanitize} from './sanitize.ts'

/** Bytes in JSON: null, a string when they are valid UTF-8, else base64. Lossless. */
export type BytesJson = null | string | {readonly base64: string}

/** @returns the JSON form of a key, a value or a header value */
export function bytesToJson(bytes: Buffer | null): BytesJson {
  if (bytes === null) return null
  return isUtf8(bytes) ? bytes.toString('utf8') : {base64: bytes.toString('base64')}
}

/** True for bytes that a person can read as text: valid UTF-8 without a zero byte. */
export function isReadable(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

/** Text of bytes as a person may see them on one line, told apart: `null`, `""`, `"null"`, `0x00ff`, plain text. */
export function bytesToText(bytes: Buffer | null, maxLength = 200): string {
  if (bytes === null) return 'null'
  if (bytes.length === 0) return '""'
  // Four bytes a character at most: what lies behind cannot be shown anyway.
  const shown = bytes.length > maxLength * 4 ? wholeCharacters(bytes.subarray(0, maxLength * 4)) : bytes
  if (!isReadable(shown)) {
    const hex = bytes.subarray(0, Math.ceil(maxLength / 2)).toString('hex')
    return `0x${hex}${bytes.length * 2 > maxLength ? '…' : ''}`
  }
  const text = sanitize(shown.toString('utf8'))
  const isCut = shown.length < bytes.length || text.length > maxLength
  const line = isCut ? cutToWidth(`${text}…`, maxLength) : text
  return text === 'null' || text.startsWith('"') || text.startsWith('0x') ? JSON.stringify(line) : line
}

/** All of the bytes on one line, nothing cut; for pipes. */
export function bytesToFullText(bytes: Buffer | null): string {
  if (bytes === null) return 'null'
  return bytesToText(bytes, bytes.length * 4 + 16)
}

/** Drops the start of a UTF-8 sequence that was cut at the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= 4 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    if (byte < 0x80) return bytes.subarray(0, bytes.length - back + 1)
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return back >= length ? bytes : bytes.subarray(0, bytes.length - back)
  }
  return bytes
}
