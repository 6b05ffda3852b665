import {decodeBase64} from '../base64.ts'
import {type JsonObject, objectMember, parseJsonObject, textMember} from '../bounded-json.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import {HeaderTable} from '../header-table.ts'
import {readTopic} from '../primitives.ts'
import {FamilyReader} from './family-reader.ts'

const MARK = Buffer.from('"deserializationError"')
const OTHER_ERRORS = ['recordProcessingError', 'productionError', 'serializationError', 'kafkaStreamsThreadError']

/**
 * Entries of ksqlDB's processing log. They name a topic but no place in it, and hold the bytes of the key or the value
 * that could not be read, if row logging is on.
 */
export const ksqldbLog: Dialect = {
  id: 'ksqldb-log',
  stages: ['deserialize-key', 'deserialize-value'],
  keepsTimestamp: false,
  strips: () => false,
  read: ({value}) => {
    if (value?.[0] !== 0x7b || !value.includes(MARK)) return null
    const entry = parseJsonObject(value)
    const message = [entry, objectMember(entry, 'message')].find(isErrorMessage)
    return message === undefined ? null : readMessage(message)
  },
}

function isErrorMessage(object: JsonObject | null | undefined): object is JsonObject {
  return (
    object !== null &&
    object !== undefined &&
    Object.hasOwn(object, 'type') &&
    Object.hasOwn(object, 'deserializationError')
  )
}

function readMessage(message: JsonObject): DialectReading {
  const reader = new FamilyReader(new HeaderTable([]))
  reader.set('payload', 'envelope')
  const failed = objectMember(message, 'deserializationError')
  const other = OTHER_ERRORS.map(name => objectMember(message, name)).find(error => error !== undefined)
  const error = failed ?? other
  const topic = textMember(error, 'topic')
  if (topic !== undefined) reader.set('origin', {topic: readTopic(Buffer.from(topic), reader.warn) ?? topic})
  const words = textMember(error, 'errorMessage')
  if (words !== undefined) reader.set('exception', {message: words})
  const target = textMember(failed, 'target')
  if (target === 'key' || target === 'value') reader.set('stage', `deserialize-${target}`)
  const encoded = textMember(failed, 'recordB64')
  const bytes = encoded === undefined ? null : decodeBase64(encoded)
  if (bytes !== null) reader.set(target === 'key' ? 'rawKey' : 'rawValue', bytes.toString('hex'))
  // With the key alone, the value is still missing.
  if (bytes === null || target === 'key') reader.warn('value_lost')
  return reader.finish(Infinity)
}
