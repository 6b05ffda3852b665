import type {DecodedValue, DecodeProblem, SchemaType} from './types.ts'

/** A payload within the bytes of a record. */
export interface FramedBytes {
  readonly bytes: Buffer
  /** First byte behind the frame; message indexes of Protobuf still stand here when `indexes` is null. */
  readonly start: number
  /** Message indexes that came in a header; null = they stand before the payload. */
  readonly indexes: Buffer | null
}

/** A payload that was read by a schema. */
export interface DecodedPayload {
  readonly value: DecodedValue
  /** Full name of the record or message; null when the schema has none. */
  readonly name: string | null
  /** A value that was read but breaks the schema's rules. */
  readonly problem?: DecodeProblem
}

/** A schema that is ready to read payloads, and holds no connection. */
export interface CompiledSchema {
  readonly type: SchemaType
  /** @throws DecodeFault, RangeError of a stack that is too deep */
  decode(payload: FramedBytes): DecodedPayload
}

/** A schema as the registry or a file gives it. */
export interface SchemaSource {
  readonly type: SchemaType
  readonly text: string
  /** Schemas that it refers to by name, those that others need first. */
  readonly references: readonly {readonly name: string; readonly text: string}[]
}
