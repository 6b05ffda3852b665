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

/** `-dlt`, `.DLT`, `-retry-0-dlt`, `-dlq`; `-retry`, `-retry-1000`, `-retry-1000-0`: the topic stands in front. */
const ORIGIN_IN_FRONT = /^(.+?)(?:[-.]retry(?:-\d{1,10}){0,2})?(?:[-._]dl[tq])?$/i
const MAX_TOPIC = 249

/**
 * Topic that the name of a dead letter or retry topic may stand for, by the habits of Spring, laravel-kafka and most home-made
 * ones; null when the name tells nothing. A guess for a person: nothing is sent there because of it.
 */
export function originInName(topic: string): string | null {
  const guess = topic.length > MAX_TOPIC ? undefined : ORIGIN_IN_FRONT.exec(topic)?.[1]
  return guess === undefined || guess === topic || isDlqName(guess) ? null : guess
}

/** True for a topic that is named like a dead letter or retry topic. It ranks and warns; it never makes a match. */
export function isDlqName(topic: string): boolean {
  return topic.length <= MAX_TOPIC && DLQ_WORD.test(topic)
}
