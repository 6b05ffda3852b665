import type {RecordHeader} from '../kafka/record.ts'

/** Name of the one header that a replay adds. */
export const PROVENANCE_HEADER = 'kdlq.replay'
const NAME = Buffer.from(PROVENANCE_HEADER)

/** What the provenance header says. */
export interface Provenance {
  readonly run: string
  /** Replays of this record so far, this one included: 1 = the first. */
  readonly attempt: number
  /** Address of the dead letter that was replayed. */
  readonly deadLetter: string
}

/** The header as it goes out: compact JSON, members always in the same order. */
export function provenanceHeader({run, attempt, deadLetter}: Provenance): RecordHeader {
  return {name: NAME, value: Buffer.from(JSON.stringify({run, attempt, deadLetter}))}
}

/** True for the provenance header's name. */
export function isProvenanceName(name: Buffer): boolean {
  return name.equals(NAME)
}

/**
 * Read a provenance header's value.
 * @returns null when it is not one of ours (hostile or foreign text never throws)
 */
export function parseProvenance(value: Buffer | null): Provenance | null {
  if (value === null || value.length > 2048) return null
  let parsed: unknown
  try {
    parsed = JSON.parse(value.toString('utf8'))
  } catch {
    return null
  }
  if (!isObject(parsed)) return null
  const {run, attempt, deadLetter} = parsed
  if (typeof run !== 'string' || typeof deadLetter !== 'string') return null
  if (typeof attempt !== 'number' || !Number.isSafeInteger(attempt) || attempt < 1) return null
  return {run, attempt, deadLetter}
}

/** The attempt that a replay of a record with these headers is: the last readable provenance header's plus one, else 1. */
export function nextAttempt(headers: readonly RecordHeader[]): number {
  let attempt = 0
  for (const header of headers) {
    if (isProvenanceName(header.name)) attempt = parseProvenance(header.value)?.attempt ?? attempt
  }
  return attempt + 1
}

function isObject(value: unknown): value is {readonly [name in keyof Provenance]?: unknown} {
  return typeof value === 'object' && value !== null
}
