const DLQ_WORD =
  /(?:^|[._-])(?:dlq|dlt|dead[._-]?letters?(?:[._-](?:queue|topic))?|errors?|retry|retries|parking[._-]?lot|failed|poison(?:ed)?)(?:$|[._-])/i

/**
 * Origin topic in the name of a dead letter topic that ends in one of the suffixes; undefined when it ends in none, or
 * consists of nothing else.
 */
export function topicBehind(topic: string, suffixes: readonly string[]): string | undefined {
  const suffix = suffixes.find(end => topic.length > end.length && topic.endsWith(end))
  return suffix === undefined ? undefined : topic.slice(0, -suffix.length)
}

/** True for a topic that is named like a dead letter or retry topic. It ranks and warns; it never makes a match. */
export function isDlqName(topic: string): boolean {
  return topic.length <= 249 && DLQ_WORD.test(topic)
}
