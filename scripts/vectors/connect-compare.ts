import {fromBytes} from './connect-format.ts'
import type {ConnectVector} from './connect-format.ts'

const NULL_POINTER = 'java.lang.NullPointerException'

/**
 * Every difference between what a vector expects and what came out, a line each, with its place.
 *
 * A NullPointerException that no script threw has a message of the JVM's own: only its class counts.
 */
export function compareConnect(vector: ConnectVector, want: unknown, got: unknown): string[] {
  const scripted = new Set<string | null>()
  collectNullPointers(vector.input, scripted)
  const differences: string[] = []
  compare(want, got, '', {scripted, differences})
  return differences
}

interface Comparison {
  readonly scripted: ReadonlySet<string | null>
  readonly differences: string[]
}

function compare(wanted: unknown, got: unknown, path: string, comparison: Comparison): void {
  const want = inOneSpelling(wanted)
  if (Array.isArray(want) && Array.isArray(got)) {
    if (want.length !== got.length) differ(`${path}.length`, want.length, got.length, comparison)
    for (let index = 0; index < Math.min(want.length, got.length); index++) {
      compare(want[index], got[index], `${path}[${index}]`, comparison)
    }
    return
  }
  if (!isObject(want) || !isObject(got)) {
    if (want !== got) differ(path, want, got, comparison)
    return
  }
  const keys = new Set([...Object.keys(want), ...Object.keys(got)])
  if (isForeignNullPointer(want, comparison.scripted)) keys.delete('message')
  for (const key of keys) {
    const place = path === '' ? key : `${path}.${key}`
    compare(want[key], got[key], place, comparison)
  }
}

/** Bytes may be spelled in base64 although they are text. */
function inOneSpelling(value: unknown): unknown {
  if (!isObject(value)) return value
  const {base64, ...others} = value
  return typeof base64 === 'string' && Object.keys(others).length === 0
    ? fromBytes(Buffer.from(base64, 'base64'))
    : value
}

function differ(path: string, want: unknown, got: unknown, {differences}: Comparison): void {
  differences.push(`${path}: want ${JSON.stringify(want) ?? 'nothing'}, got ${JSON.stringify(got) ?? 'nothing'}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isForeignNullPointer(want: Record<string, unknown>, scripted: ReadonlySet<string | null>): boolean {
  const {class: className, message} = want as {class?: unknown; message?: string | null}
  return className === NULL_POINTER && message !== undefined && !scripted.has(message)
}

function collectNullPointers(value: unknown, into: Set<string | null>): void {
  if (Array.isArray(value)) for (const item of value) collectNullPointers(item, into)
  if (!isObject(value)) return
  const {class: className, message} = value as {class?: unknown; message?: unknown}
  if (className === NULL_POINTER && (message === null || typeof message === 'string')) into.add(message)
  for (const part of Object.values(value)) collectNullPointers(part, into)
}
