/** What decoding a payload gives: values, and facts about how they came about. No code. */

/** Which of the two payloads of a record. */
export type Part = 'key' | 'value'

/**
 * A decoded value. 64-bit integers are bigint; bytes are Buffers; member names are data: read
 * own members only.
 */
export type DecodedValue =
  null | boolean | number | bigint | string | Buffer | readonly DecodedValue[] | {readonly [name: string]: DecodedValue}

/** How a payload was read. `bytes`: nothing fits; `external`, `glue`, `java`: recognised, not read. */
export type PayloadFormat =
  | 'null'
  | 'text'
  | 'json'
  | 'avro'
  | 'protobuf'
  | 'jsonschema'
  | 'int32'
  | 'int64'
  | 'float32'
  | 'float64'
  | 'uuid'
  | 'msgpack'
  | 'cbor'
  | 'hex'
  | 'bytes'
  | 'external'
  | 'glue'
  | 'java'

/**
 * Step at which decoding stopped: what the bytes are (`detect`), the frame around them (`framing`), asking for the schema
 * (`registry`), reading the schema (`schema`), reading the bytes by it (`decode`), its rules (`validate`).
 */
export type DecodeStep = 'detect' | 'framing' | 'registry' | 'schema' | 'decode' | 'validate'

/** Why the registry gave no schema; for programs, the message is for people. */
export type RegistryReason =
  | 'none'
  | 'unreachable'
  | 'timeout'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'server-error'
  | 'redirected'
  | 'too-large'
  | 'not-a-registry'
  | 'too-many'

/** Why a payload could not be decoded. A fact about one record, never thrown at a caller. */
export interface DecodeProblem {
  readonly step: DecodeStep
  /** One line, lower case, no full stop; hostile text in it is not yet sanitised. */
  readonly message: string
  /** First byte that makes no sense, counted from the start of the payload as it lies in the record. */
  readonly at?: number
  /** Field that was being read, e.g. `order.items[2].price`; absent at the top. */
  readonly field?: string
  /** Only for step `registry`. */
  readonly reason?: RegistryReason
}

/** Kinds of schemas, by the registry's words. */
export type SchemaType = 'AVRO' | 'PROTOBUF' | 'JSON'

/** The schema that a payload names. */
export interface SchemaFacts {
  readonly id?: number
  readonly guid?: string
  /** Absent when the registry does not say. */
  readonly subject?: string
  readonly version?: number
  /** Absent when the schema could not be got. */
  readonly type?: SchemaType
  /** Full name of the record or message. */
  readonly name?: string
}

/** One payload, decoded as far as it went. */
export interface DecodedPart {
  readonly format: PayloadFormat
  /** Null for a Kafka null, and when nothing could be read; a failed `validate` keeps the value. */
  readonly value: DecodedValue
  readonly schema?: SchemaFacts
  readonly error?: DecodeProblem
  /** Spring's type header for this payload, e.g. a Java class. */
  readonly typeId?: string
}

/** Both parts of a record, decoded as far as they go. */
export interface DecodedRecord {
  readonly key: DecodedPart
  readonly value: DecodedPart
}
