import {isDlqName} from '../../dialects/topic-name.ts'

/** What the name of a topic tells; `origin` only when such a topic exists. */
export interface TopicName {
  readonly kind: 'dead-letter' | 'retry'
  readonly origin: string | null
}

/** Retry topics come before the final one: Spring's, SmallRye's and Greyhound's forms, and a plain `-retry` at the end. */
const RETRY = /^(?<origin>.+?)(?:[._-](?:retry|retries)(?:[._-]\d+){0,2})$/i
const FINAL =
  /^(?<origin>.+?)(?:[._-](?:retry|retries))?[._-](?:dlq|dlt|dead[._-]?letters?(?:[._-](?:queue|topic))?|errors?|failed|poison(?:ed)?|parking[._-]?lot)$/i
const PREFIXED = /^(?:dlq|dlt|errors?|dead[._-]?letters?(?:[._-](?:queue|topic))?)[._-](?<origin>.+)$/i

/**
 * Read a topic's name.
 * @param exists whether the cluster has a topic of this name
 * @returns null when it is not named like a dead letter or retry topic
 */
export function readTopicName(name: string, exists: (topic: string) => boolean): TopicName | null {
  if (!isDlqName(name)) return null
  const retry = RETRY.exec(name)
  const kind = retry === null ? 'dead-letter' : 'retry'
  const guesses = [retry, FINAL.exec(name), PREFIXED.exec(name)].flatMap(match => match?.groups?.['origin'] ?? [])
  return {kind, origin: guesses.flatMap(guess => shortened(guess)).find(guess => exists(guess)) ?? null}
}

/** `orders.billing` of `error.orders.billing` may be topic and group: the longest prefix that exists is the topic. */
function shortened(guess: string): string[] {
  const names = [guess]
  for (let at = guess.length - 1; at > 0; at--) if ('._-'.includes(guess[at] ?? '')) names.push(guess.slice(0, at))
  return names
}
