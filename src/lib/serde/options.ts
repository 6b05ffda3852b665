import type {AskedFormat} from './format.ts'
import type {Part} from './types.ts'

/** What is known about a record when it is decoded. */
export interface DecodeOptions {
  /** Topics that the record belongs to, best first: a schema may be registered under several subjects. */
  readonly topics?: readonly string[] | undefined
  /** Formats that the reader which failed expected: what they make of the bytes is the error when the bytes have none of their own. */
  readonly expect?: Partial<Readonly<Record<Part, AskedFormat>>> | undefined
}
