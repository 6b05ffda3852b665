/** Kafka's message definitions as the generators want them: fields that our versions of an API can carry, names resolved. */
import {readMessageDefinition} from './kafka-artifacts.ts'

export interface Range {
  readonly min: number
  readonly max: number
}

export type Scalar = 'bool' | 'int8' | 'int16' | 'uint16' | 'int32' | 'int64' | 'string' | 'uuid' | 'bytes'

export type FieldType =
  | {readonly kind: 'scalar'; readonly scalar: Scalar}
  | {readonly kind: 'struct'; readonly struct: Struct}
  | {readonly kind: 'array'; readonly element: FieldType}

export interface Field {
  readonly name: string
  readonly type: FieldType
  /** Within the message's versions. */
  readonly versions: Range
  readonly nullable: Range | null
  readonly tag: number | null
  readonly ignorable: boolean
  /** As in the definition; null = the type's own default. */
  readonly fallback: string | null
}

export interface Struct {
  readonly name: string
  /** Versions in which it can appear at all. */
  readonly versions: Range
  readonly fields: readonly Field[]
}

export interface MessageDefinition {
  readonly api: string
  readonly key: number
  readonly versions: Range
  /** Null = no flexible version among ours. */
  readonly flexibleFrom: number | null
  readonly request: Struct
  readonly response: Struct
}

/**
 * The APIs that kdlq speaks. A cap leaves out versions that are not for clients, not stable yet, or that drop topic
 * names in favour of ids.
 */
export const APIS: Readonly<Record<string, number | null>> = {
  Produce: 12,
  Fetch: 17,
  ListOffsets: null,
  Metadata: null,
  OffsetCommit: 9,
  OffsetFetch: 9,
  FindCoordinator: null,
  DescribeGroups: null,
  ListGroups: null,
  ApiVersions: 4,
  CreateTopics: null,
  DeleteTopics: null,
  DeleteRecords: null,
  InitProducerId: 5,
  OffsetForLeaderEpoch: null,
  AddPartitionsToTxn: 3,
  AddOffsetsToTxn: null,
  EndTxn: null,
  TxnOffsetCommit: 5,
  DescribeAcls: null,
  DescribeConfigs: null,
  DescribeCluster: null,
  DescribeProducers: null,
  DescribeTransactions: null,
  ListTransactions: null,
  ConsumerGroupDescribe: null,
}

interface RawField {
  readonly name: string
  readonly type: string
  readonly versions: string
  readonly nullableVersions?: string
  readonly taggedVersions?: string
  readonly tag?: number
  readonly ignorable?: boolean
  readonly default?: string | boolean
  readonly fields?: readonly RawField[]
}

interface RawMessage {
  readonly apiKey: number
  readonly name: string
  readonly validVersions: string
  readonly flexibleVersions: string
  readonly fields: readonly RawField[]
  readonly commonStructs?: readonly RawField[]
}

const SCALARS: Readonly<Record<string, Scalar>> = {
  bool: 'bool',
  int8: 'int8',
  int16: 'int16',
  uint16: 'uint16',
  int32: 'int32',
  int64: 'int64',
  string: 'string',
  uuid: 'uuid',
  bytes: 'bytes',
  records: 'bytes',
}

/** Both messages of an API. */
export function readApi(api: string): MessageDefinition {
  const request = readMessageDefinition(`${api}Request`) as RawMessage
  const response = readMessageDefinition(`${api}Response`) as RawMessage
  const valid = parseRange(request.validVersions)
  const versions = {min: valid.min, max: Math.min(valid.max, APIS[api] ?? valid.max)}
  const flexible = intersect(parseRange(request.flexibleVersions), versions)
  return {
    api,
    key: request.apiKey,
    versions,
    flexibleFrom: flexible?.min ?? null,
    request: new StructReader(request, versions).message(),
    response: new StructReader(response, versions).message(),
  }
}

class StructReader {
  readonly #raw: RawMessage
  readonly #versions: Range
  readonly #structs = new Map<string, Struct>()

  constructor(raw: RawMessage, versions: Range) {
    this.#raw = raw
    this.#versions = versions
  }

  message(): Struct {
    return {name: this.#raw.name, versions: this.#versions, fields: this.#fields(this.#raw.fields, this.#versions)}
  }

  #fields(raw: readonly RawField[], within: Range): Field[] {
    return raw.flatMap(field => {
      const versions = intersect(parseRange(field.versions), within)
      if (versions === null) return []
      const tagged = field.taggedVersions === undefined ? null : parseRange(field.taggedVersions)
      if (tagged !== null && (tagged.min > versions.min || tagged.max < versions.max)) {
        throw new Error(`${this.#raw.name}.${field.name} is tagged in some versions only`)
      }
      return {
        name: lowerFirst(field.name),
        type: this.#type(field.type, field.fields, versions),
        versions,
        nullable: field.nullableVersions === undefined ? null : intersect(parseRange(field.nullableVersions), versions),
        tag: tagged === null ? null : (field.tag ?? null),
        ignorable: field.ignorable ?? false,
        fallback: field.default === undefined ? null : String(field.default),
      }
    })
  }

  #type(text: string, fields: readonly RawField[] | undefined, within: Range): FieldType {
    if (text.startsWith('[]')) return {kind: 'array', element: this.#type(text.slice(2), fields, within)}
    const scalar = SCALARS[text]
    if (scalar !== undefined) return {kind: 'scalar', scalar}
    const body = fields ?? this.#raw.commonStructs?.find(struct => struct.name === text)?.fields
    if (body === undefined) throw new Error(`unknown type ${text} in ${this.#raw.name}`)
    const known = this.#structs.get(text)
    if (known !== undefined) return {kind: 'struct', struct: known}
    // A shared struct can be reached through fields of different versions.
    const versions = fields === undefined ? this.#versions : within
    const struct = {name: this.#structName(text), versions, fields: this.#fields(body, versions)}
    this.#structs.set(text, struct)
    return {kind: 'struct', struct}
  }

  /** FetchRequest + FetchTopic = FetchRequestTopic: every struct starts with its message's name. */
  #structName(text: string): string {
    const message = this.#raw.name
    const api = message.replace(/(Request|Response)$/, '')
    let rest = text
    for (const prefix of [message, api]) if (rest.startsWith(prefix)) rest = rest.slice(prefix.length)
    rest = rest.replace(/^(Request|Response)/, '').replace(/(Request|Response)$/, '')
    return message + rest
  }
}

function parseRange(text: string): Range {
  const match = /^(\d+)(?:(\+)|-(\d+))?$/.exec(text)
  if (text === 'none') return {min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY}
  if (match === null) throw new Error(`version range ${text}`)
  const min = Number(match[1])
  if (match[2] !== undefined) return {min, max: Number.POSITIVE_INFINITY}
  return {min, max: match[3] === undefined ? min : Number(match[3])}
}

function intersect(a: Range, b: Range): Range | null {
  const both = {min: Math.max(a.min, b.min), max: Math.min(a.max, b.max)}
  return both.min <= both.max ? both : null
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
