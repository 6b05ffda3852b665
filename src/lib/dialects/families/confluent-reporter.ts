import type {Dialect} from '../dialect.ts'
import {FamilyReader} from './family-reader.ts'
import {parseThrowable} from '../root-cause.ts'

const NAMES = [
  'input_record_topic',
  'input_record_partition',
  'input_record_offset',
  'input_record_timestamp',
  'error_message',
  'exception',
  'response_content',
  'status_code',
  'payload',
  'reason_phrase',
  'url',
]

/**
 * Error topics of Confluent's HTTP sink and its relatives. Their values are reports (a text, or what the service answered):
 * nothing of it can be sent back, and no header belongs to the original.
 */
export const confluentReporter: Dialect = {
  id: 'confluent-reporter',
  stages: [],
  keepsTimestamp: false,
  strips: () => true,
  read: (_record, headers) => {
    if (!headers.has('input_record_topic') || !headers.has('input_record_offset')) return null
    const reader = new FamilyReader(headers)
    reader.set('payload', 'absent')
    reader.set(
      'origin',
      reader.coordinates(
        {
          topic: 'input_record_topic',
          partition: 'input_record_partition',
          offset: 'input_record_offset',
          timestamp: 'input_record_timestamp',
        },
        'last',
      ),
    )
    const exception = reader.exception({message: 'error_message'}) ?? {}
    const thrown = parseThrowable(reader.nullableText('exception')?.split('\n', 1)[0] ?? '')
    if (thrown !== undefined) exception.class = thrown.class
    if (Object.keys(exception).length > 0) reader.set('exception', exception)
    return reader.finish(NAMES)
  },
}
