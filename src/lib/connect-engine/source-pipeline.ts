import type {RecordHeader} from '../kafka/record.ts'
import type {Converter, HeaderConverter, SourceRecord} from './data.ts'
import type {RetryWithToleranceOperator} from './engine.ts'
import type {ProcessingContext} from './processing-context.ts'
import {checkedTimestamp} from './sink-pipeline.ts'
import {type OutgoingSourceRecord, WorkerSourceRecord} from './source-task.ts'
import {applyTransformations, type TransformationStage} from './transforms/transformation.ts'

/** The steps between the task and the producer. */
export interface SourcePipelineOptions {
  readonly operator: RetryWithToleranceOperator<SourceRecord>
  readonly keyConverter: Converter
  readonly valueConverter: Converter
  readonly headerConverter: HeaderConverter
  readonly transformations?: readonly TransformationStage[]
}

/**
 * The way of one polled record to the producer: each transform, then all headers at once, key and value, every step an
 * operation of the engine.
 * @returns null for a record that was dropped by a transform, or given up (`context.failed`)
 * @throws what ends the task: ConnectException beyond the tolerance, JavaException for a timestamp below -1
 * @see Connect's AbstractWorkerSourceTask.convertTransformedRecord
 */
export async function prepareSourceRecord(
  {operator, keyConverter, valueConverter, headerConverter, transformations = []}: SourcePipelineOptions,
  context: ProcessingContext<SourceRecord>,
  record: SourceRecord,
): Promise<OutgoingSourceRecord | null> {
  const changed = await applyTransformations(operator, transformations, context, new WorkerSourceRecord(record))
  if (changed === null) return null
  const {topic, partition} = changed
  const headers =
    (await operator.execute(
      context,
      () => rawHeaders(headerConverter, changed),
      'HEADER_CONVERTER',
      headerConverter.className,
    )) ?? []
  const key = await operator.execute(
    context,
    () => keyConverter.fromConnectData(topic, changed.keySchema, changed.key, headers),
    'KEY_CONVERTER',
    keyConverter.className,
  )
  const value = await operator.execute(
    context,
    () => valueConverter.fromConnectData(topic, changed.valueSchema, changed.value, headers),
    'VALUE_CONVERTER',
    valueConverter.className,
  )
  if (context.failed) return null
  return {topic, partition, timestamp: checkedTimestamp(changed.timestamp), key, value, headers}
}

function rawHeaders(converter: HeaderConverter, {topic, headers}: SourceRecord): RecordHeader[] {
  return headers.map(({key, schema, value}) => ({
    name: Buffer.from(key),
    value: converter.fromConnectHeader(topic, key, schema, value),
  }))
}
