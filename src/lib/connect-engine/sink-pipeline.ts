import type {KafkaRecord} from '../kafka/record.ts'
import {
  type ConnectHeader,
  type Converter,
  type HeaderConverter,
  InternalSinkRecord,
  type SchemaAndValue,
} from './data.ts'
import type {RetryWithToleranceOperator} from './engine.ts'
import {JavaException} from './errors.ts'
import {ProcessingContext} from './processing-context.ts'
import {applyTransformations, type TransformationStage} from './transforms/transformation.ts'

/** The steps between the consumer and the task. */
export interface SinkPipelineOptions {
  readonly operator: RetryWithToleranceOperator<KafkaRecord>
  readonly keyConverter: Converter
  readonly valueConverter: Converter
  readonly headerConverter: HeaderConverter
  readonly transformations: readonly TransformationStage[]
}

/** What became of one consumed record. */
export interface SinkOutcome {
  readonly context: ProcessingContext<KafkaRecord>
  /** Null = dropped by a transform, or given up (`context.failed`). */
  readonly record: InternalSinkRecord | null
}

/**
 * The way of one consumed record to the task: key, value, all headers at once, then each transform, every step an operation
 * of the engine.
 * @throws what ends the task: ConnectException beyond the tolerance, JavaException for a timestamp below -1 or a converter
 * that answers nothing
 * @see Connect's WorkerSinkTask.convertAndTransformRecord
 */
export async function processSinkRecord(options: SinkPipelineOptions, consumed: KafkaRecord): Promise<SinkOutcome> {
  const {operator, keyConverter, valueConverter, headerConverter, transformations} = options
  const {topic, partition, offset, timestampType, headers: rawHeaders} = consumed
  const context = new ProcessingContext<KafkaRecord>(consumed)
  const convert = (converter: Converter, bytes: Buffer | null) => (): SchemaAndValue | Promise<SchemaAndValue> =>
    converter.toConnectData(topic, bytes, rawHeaders)
  const key = await operator.execute(
    context,
    convert(keyConverter, consumed.key),
    'KEY_CONVERTER',
    keyConverter.className,
  )
  const value = await operator.execute(
    context,
    convert(valueConverter, consumed.value),
    'VALUE_CONVERTER',
    valueConverter.className,
  )
  const headers = await operator.execute(
    context,
    () => rawHeaders.map(header => convertHeader(headerConverter, topic, header)),
    'HEADER_CONVERTER',
    headerConverter.className,
  )
  if (context.failed) return {context, record: null}
  const timestamp = checkedTimestamp(consumed.timestamp)
  const keyData = present(key, 'keyAndSchema')
  const valueData = present(value, 'valueAndSchema')
  const record = new InternalSinkRecord(context, {
    topic,
    partition,
    offset,
    keySchema: keyData.schema,
    key: keyData.value,
    valueSchema: valueData.schema,
    value: valueData.value,
    timestamp,
    timestampType,
    headers: present(headers, 'headers'),
  })
  return {context, record: await applyTransformations(operator, transformations, context, record)}
}

/**
 * Null or at least 0 stays, -1 is no timestamp.
 * @throws JavaException (InvalidRecordException) below that; no tolerance covers it
 * @see Connect's ConnectUtils.checkAndConvertTimestamp
 */
export function checkedTimestamp(timestamp: bigint | null): bigint | null {
  if (timestamp === null || timestamp >= 0n) return timestamp
  if (timestamp === -1n) return null
  const message = `Invalid record timestamp ${timestamp}`
  throw new JavaException({className: 'org.apache.kafka.common.InvalidRecordException', message})
}

function convertHeader(
  converter: HeaderConverter,
  topic: string,
  {name, value}: KafkaRecord['headers'][number],
): ConnectHeader {
  const key = name.toString('utf8')
  return {key, ...converter.toConnectHeader(topic, key, value)}
}

/** A converter that answers nothing is met outside the engine. */
function present<V>(value: V | null, name: string): V {
  if (value !== null) return value
  throw new JavaException({className: 'java.lang.NullPointerException', message: `"${name}" is null`})
}
