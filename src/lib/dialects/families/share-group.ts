import type {KafkaRecord} from '../../kafka/record.ts'
import type {Dialect, DialectReading} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {HeaderTable} from '../header-table.ts'
import type {Failure} from '../model.ts'
import {hasPrefix, headerName} from '../primitives.ts'

const PREFIX = '__dlq.errors.'
const PREFIX_BYTES = headerName(PREFIX)
const COORDINATES = {topic: `${PREFIX}topic`, partition: `${PREFIX}partition`, offset: `${PREFIX}offset`} as const
const GROUP = `${PREFIX}group`
const DELIVERIES = `${PREFIX}delivery.count`
const MESSAGE = `${PREFIX}message`

/** Text form of a topic id, which the broker writes when the topic's name is no longer known. */
const TOPIC_ID = /^[A-Za-z0-9_-]{22}$/

/**
 * Records that a share group gave up, as the broker writes them (KIP-1191): pointers to the source record, with key and
 * value only where the group copies them, and never with the original's headers.
 */
export const shareGroup: Dialect = {
  id: 'share-group',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: readShareGroup,
}

function readShareGroup(record: KafkaRecord, headers: HeaderTable): DialectReading | null {
  if (!headers.has(COORDINATES.topic) || !headers.has(COORDINATES.offset)) return null
  const reader = new HeaderReader(headers)
  const failure: Omit<Failure, 'dialect' | 'chain'> = {}
  const origin = reader.coordinates(COORDINATES, 'last')
  if (origin !== undefined) failure.origin = origin
  if (origin?.topic !== undefined && TOPIC_ID.test(origin.topic)) reader.warn('maybe_topic_id')
  const group = reader.text(GROUP)
  if (group !== undefined) failure.group = group
  const deliveries = reader.int32(DELIVERIES)
  if (deliveries !== undefined) failure.attempts = deliveries
  const message = reader.text(MESSAGE)
  if (message !== undefined) failure.exception = {message}
  failure.payload = record.key === null && record.value === null ? 'absent' : 'copied'
  return {failure: {...failure, ...reader.warnings()}, lastHeaderIndex: headers.lastIndexOfPrefix(PREFIX)}
}
