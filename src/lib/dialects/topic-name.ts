const DLQ_WORD =
  /(?:^|[._-])(?:dlq|dlt|dead[._-]?letters?(?:[._-](?:queue|topic))?|errors?|retry|retries|parking[._-]?lot|failed|poison(?:ed)?)(?:$|[._-])/i

/** True for a topic that is named like a dead letter or retry topic. It ranks and warns; it never makes a match. */
export function isDlqName(topic: string): boolean {
  return topic.length <= 249 && DLQ_WORD.test(topic)
}
