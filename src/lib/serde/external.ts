import type {RecordHeader} from '../kafka/record.ts'

/** Words in names of headers that say the payload lies elsewhere: claim checks, object storage. */
const ELSEWHERE =
  /large-?message|claim-?check|external-?payload|payload-?(?:ref|reference|location|pointer|url|uri)|s3-?backed/
/** A pointer is short; what is longer is the payload itself. */
const LONGEST_POINTER = 4096
const LONGEST_NAME = 200

/** Name of the header that makes a value a pointer to a payload elsewhere; null when it is none. */
export function externalPayloadHeader(value: Buffer, headers: readonly RecordHeader[]): string | null {
  if (value.length > LONGEST_POINTER) return null
  for (const {name} of headers) {
    if (name.length > LONGEST_NAME) continue
    const text = name.toString('utf8')
    if (ELSEWHERE.test(text.toLowerCase().replaceAll(/[_. ]/g, '-'))) return text
  }
  return null
}
