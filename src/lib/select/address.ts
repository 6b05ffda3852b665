import {isLegalTopicName, type Offset, type TopicName} from '../kafka/record.ts'
import {badValue, parseUint31, parseUint63} from './usage.ts'

/** Names one record. */
export interface Address {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: Offset
}

/**
 * Reads `topic:partition:offset`; `formatAddress` of lib/kafka/record.ts writes it.
 * @returns null when the text has another form
 */
export function tryParseAddress(text: string): Address | null {
  const match = /^([^:]+):([0-9]+):([0-9]+)$/.exec(text)
  if (match === null) return null
  const [, topic = '', partitionText = '', offsetText = ''] = match
  const partition = parseUint31(partitionText)
  const offset = parseUint63(offsetText)
  return isLegalTopicName(topic) && partition !== null && offset !== null ? {topic, partition, offset} : null
}

/**
 * As `tryParseAddress`.
 * @param name what the error calls the value, e.g. `ADDRESS`
 * @throws UsageError when the text has another form
 */
export function parseAddress(text: string, name = 'ADDRESS'): Address {
  const address = tryParseAddress(text)
  if (address === null) throw badValue(name, text, 'give topic:partition:offset such as orders-dlq:0:42')
  return address
}
