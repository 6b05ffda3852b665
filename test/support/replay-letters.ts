import type {RecordHeader} from '../../src/lib/kafka/record.ts'
import {header} from './records.ts'

export {header}

/** Connect's context headers for an origin. */
export function connectSet(topic: string, partition: number, offset: number): RecordHeader[] {
  return [
    header('__connect.errors.topic', topic),
    header('__connect.errors.partition', String(partition)),
    header('__connect.errors.offset', String(offset)),
    header('__connect.errors.connector.name', 'orders-sink'),
    header('__connect.errors.task.id', '0'),
    header('__connect.errors.stage', 'VALUE_CONVERTER'),
    header('__connect.errors.class.name', 'org.apache.kafka.connect.json.JsonConverter'),
    header('__connect.errors.exception.class.name', 'org.apache.kafka.connect.errors.DataException'),
    header('__connect.errors.exception.message', null),
    header('__connect.errors.exception.stacktrace', 'at x'),
  ]
}
