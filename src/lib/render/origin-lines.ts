import type {BytesJson} from './bytes.ts'
import {plural} from './numbers.ts'
import type {Tone} from './paint.ts'

/** The record at an origin; bytes as in all JSON of kdlq. */
export interface OriginRecordJson {
  /** Epoch ms, decimal; null = none. */
  readonly timestamp: string | null
  readonly key: BytesJson
  readonly value: BytesJson
  readonly headers: readonly (readonly [name: string, value: BytesJson])[]
}

/** Where a key or value is no longer that of the origin. */
export interface PartDifference {
  readonly part: 'key' | 'value'
  /** First byte that differs, from 0. */
  readonly at: number
  /** null = the part is null. */
  readonly deadLetterBytes: number | null
  readonly originBytes: number | null
}

/** The record at the origin, beside the dead letter. `record` is absent where the configuration hides values. */
export type OriginComparison = {readonly record?: OriginRecordJson} & (
  | {readonly state: 'same'}
  /** The dead letter is a pointer: the record is only there. */
  | {readonly state: 'there'}
  | {
      readonly state: 'differs'
      readonly differences: readonly ('key' | 'value' | 'headers')[]
      readonly parts: readonly PartDifference[]
    }
  /** Another record; no longer there or never; not readable: `reason` says which. */
  | {readonly state: 'other' | 'gone' | 'unknown'; readonly reason: string}
)

/** What is at the origin, for reading; lines end with a line break. */
export function* originLines(
  origin: OriginComparison,
  line: (label: string, value: string, tone?: Tone) => string,
): Generator<string> {
  const label = 'at origin'
  switch (origin.state) {
    case 'same':
      yield line(label, 'the same key, value and headers are still there', 'good')
      return
    case 'there':
      yield line(label, 'the record is still there; the dead letter only points to it', 'good')
      return
    case 'differs':
      yield line(label, `the record there differs: ${origin.differences.join(', ')}`, 'warn')
      for (const part of origin.parts) yield line('', partText(part))
      return
    case 'other':
      yield line(label, `another record: ${origin.reason}`, 'warn')
      return
    case 'gone':
    case 'unknown':
      yield line(label, `${origin.state}: ${origin.reason}`, 'warn')
  }
}

function partText({part, at, deadLetterBytes, originBytes}: PartDifference): string {
  const length = (bytes: number | null): string => (bytes === null ? 'null' : plural(bytes, 'byte'))
  return `${part}: ${length(deadLetterBytes)} here, ${length(originBytes)} there; the first difference is byte ${at}`
}
