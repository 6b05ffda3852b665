import type {KafkaRecord, TimestampType} from '../kafka/record.ts'
import type {ProcessingContext} from './processing-context.ts'

/** Types of Connect's data, by the names of its `Schema.Type`. */
export type SchemaType =
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FLOAT32'
  | 'FLOAT64'
  | 'BOOLEAN'
  | 'STRING'
  | 'BYTES'
  | 'ARRAY'
  | 'MAP'
  | 'STRUCT'

/** A schema beside a value: its type, and a name where it has one. Converters may hand out richer objects. */
export interface ConnectSchema {
  readonly type: SchemaType
  /** Null for a schema without a name. */
  readonly name: string | null
}

/** Schema null = data without a schema. */
export interface SchemaAndValue {
  readonly schema: ConnectSchema | null
  readonly value: unknown
}

/** One header of a Connect record; names may repeat. */
export interface ConnectHeader extends SchemaAndValue {
  readonly key: string
}

/** Bytes of a key or value to data and back. */
export interface Converter {
  /** Name to publish as the executing class. */
  readonly className: string
  /** @param headers raw headers of the record, for converters that look there */
  toConnectData(
    topic: string,
    bytes: Buffer | null,
    headers: KafkaRecord['headers'],
  ): SchemaAndValue | Promise<SchemaAndValue>
  /** @param headers raw headers that the record is going to have, for converters that look there; absent in reports */
  fromConnectData(
    topic: string,
    schema: ConnectSchema | null,
    value: unknown,
    headers?: KafkaRecord['headers'],
  ): Buffer | null
}

/** Bytes of one header to data and back. */
export interface HeaderConverter {
  /** Name to publish as the executing class. */
  readonly className: string
  toConnectHeader(topic: string, key: string, bytes: Buffer | null): SchemaAndValue
  fromConnectHeader(topic: string, key: string, schema: ConnectSchema | null, value: unknown): Buffer | null
}

/** What both kinds of Connect records hold. */
export interface ConnectRecordFields {
  readonly topic: string
  /** Null = not decided. */
  readonly partition: number | null
  readonly keySchema: ConnectSchema | null
  readonly key: unknown
  readonly valueSchema: ConnectSchema | null
  readonly value: unknown
  /** Epoch ms; null = none. */
  readonly timestamp: bigint | null
  readonly headers: readonly ConnectHeader[]
}

/** What a sink record holds. */
export interface SinkRecordFields extends ConnectRecordFields {
  readonly partition: number
  readonly offset: bigint
  readonly timestampType: TimestampType
}

/** What a transform may change of a record. */
export type RecordChanges = Partial<ConnectRecordFields>

/** A record on its way into a sink task. Made with this constructor it has no original. */
export class SinkRecord implements SinkRecordFields {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly keySchema: ConnectSchema | null
  readonly key: unknown
  readonly valueSchema: ConnectSchema | null
  readonly value: unknown
  readonly timestamp: bigint | null
  readonly timestampType: TimestampType
  readonly headers: readonly ConnectHeader[]

  constructor(fields: SinkRecordFields) {
    this.topic = fields.topic
    this.partition = fields.partition
    this.offset = fields.offset
    this.keySchema = fields.keySchema
    this.key = fields.key
    this.valueSchema = fields.valueSchema
    this.value = fields.value
    this.timestamp = fields.timestamp
    this.timestampType = fields.timestampType
    this.headers = fields.headers
  }

  /** The record with some fields changed; the original is not. */
  newRecord(changes: RecordChanges): SinkRecord {
    return new SinkRecord(this.changedFields(changes))
  }

  protected changedFields(changes: RecordChanges): SinkRecordFields {
    const {topic, partition, offset, keySchema, key, valueSchema, value, timestamp, timestampType, headers} = this
    const fields = {topic, partition, offset, keySchema, key, valueSchema, value, timestamp, timestampType, headers}
    return {...fields, ...changes, partition: changes.partition ?? partition}
  }
}

/**
 * A record that the runtime made of a consumed one: it, and everything derived from it with `newRecord`, is reported as
 * the raw record it came from.
 * @see Connect's InternalSinkRecord
 */
export class InternalSinkRecord extends SinkRecord {
  readonly #context: ProcessingContext<KafkaRecord>

  constructor(context: ProcessingContext<KafkaRecord>, fields: SinkRecordFields) {
    super(fields)
    this.#context = context
  }

  get context(): ProcessingContext<KafkaRecord> {
    return this.#context
  }

  override newRecord(changes: RecordChanges): InternalSinkRecord {
    return new InternalSinkRecord(this.#context, this.changedFields(changes))
  }
}

/** A record as a source task polled it. */
export interface SourceRecord extends ConnectRecordFields {
  /** Where it comes from, in the source's own words. */
  readonly sourcePartition: Readonly<Record<string, unknown>>
  readonly sourceOffset: Readonly<Record<string, unknown>>
}
