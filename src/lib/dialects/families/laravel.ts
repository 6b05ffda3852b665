import type {Dialect} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'
import {topicBehind} from '../topic-name.ts'

const NAMES = ['kafka_throwable_message', 'kafka_throwable_code', 'kafka_throwable_class_name']

/** Dead letters of laravel-kafka (PHP). The origin is only in the name of the dead letter topic. */
export const laravel: Dialect = {
  id: 'laravel',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(NAMES),
  read: (record, headers) => {
    if (!headers.has('kafka_throwable_class_name')) return null
    const reader = new FamilyReader(headers)
    const topic = topicBehind(record.topic, ['-dlq'])
    if (topic !== undefined) {
      reader.set('origin', {topic})
      reader.warn('origin_from_topic_name')
    }
    reader.set(
      'exception',
      reader.exception({
        class: 'kafka_throwable_class_name',
        message: 'kafka_throwable_message',
        code: 'kafka_throwable_code',
      }),
    )
    return reader.finish(NAMES)
  },
}
