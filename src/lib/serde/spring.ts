import type {RecordHeader} from '../kafka/record.ts'
import type {Part} from './types.ts'

/** What Spring for Apache Kafka says about types, in headers of its JSON serializer and header mapper. */
export interface SpringTypes {
  /** Java class of the payload; null when there is no such header. */
  readonly key: string | null
  readonly value: string | null
  /** Class of the elements when the value is a collection. */
  readonly content: string | null
  /** Header name to Java class, in the order of `spring_json_header_types`; empty when there is none or it is broken. */
  readonly headers: readonly (readonly [name: string, type: string])[]
}

const TYPE_HEADERS: Readonly<Record<Part, string>> = {key: '__KeyTypeId__', value: '__TypeId__'}

/** Type header of one payload; the last one holds, as in Spring. Null without one. */
export function springTypeId(part: Part, headers: readonly RecordHeader[]): string | null {
  return textOf(TYPE_HEADERS[part], headers)
}

/** All that Spring says about types; hostile text, nothing of it is ever loaded or evaluated. */
export function springTypes(headers: readonly RecordHeader[]): SpringTypes {
  return {
    key: springTypeId('key', headers),
    value: springTypeId('value', headers),
    content: textOf('__ContentTypeId__', headers),
    headers: headerTypes(textOf('spring_json_header_types', headers)),
  }
}

function textOf(name: string, headers: readonly RecordHeader[]): string | null {
  const bytes = Buffer.from(name)
  const found = headers.findLast(header => header.name.length === bytes.length && header.name.equals(bytes))
  return found?.value?.toString('utf8') ?? null
}

function headerTypes(json: string | null): SpringTypes['headers'] {
  if (json === null) return []
  try {
    const types: unknown = JSON.parse(json)
    if (typeof types !== 'object' || types === null || Array.isArray(types)) return []
    return Object.entries(types).flatMap(([name, type]) => (typeof type === 'string' ? [[name, type] as const] : []))
  } catch {
    return []
  }
}
