import type {Failure, RecordCoordinates} from '../dialects/model.ts'
import {headlineOf} from '../dialects/root-cause.ts'
import {WRAPPER_CLASSES} from '../dialects/wrapper-classes.ts'
import {failureKind, kindId} from './fingerprint.ts'
import type {DeadLetter} from './model.ts'
import type {Judge} from './verdict.ts'

/** What a group has in common; null where the dead letter does not say. */
export type GroupValue = string | number | null

/** What words may need besides the dead letter. */
export interface GroupContext {
  readonly judge: Judge
}

const HOUR_MS = 3_600_000n
const DAY_MS = 86_400_000n
/** Last time that RFC 3339 can name, epoch ms. */
const MAX_TIME_MS = 253_402_300_799_999n

/** The words of `--by`, each with what it takes from a dead letter. */
export const GROUP_KEYS = {
  fingerprint: deadLetter => deadLetter.fingerprint,
  /** The same failure wherever it happened: the fingerprint without the topic. */
  kind: deadLetter => {
    const {failure, record} = deadLetter.unredacted ?? deadLetter
    return kindId(failureKind(failure, record))
  },
  /** What a replay can do about it. */
  verdict: (deadLetter, {judge}) => judge(deadLetter)?.verdict ?? null,
  stage: ({failure}) => failure.stage ?? null,
  /** The exception that was reported; what a listener or a future only wrapped is looked at instead of the wrapper. */
  exception: ({failure}) => reportedException(failure.exception),
  /** Root cause; the exception itself when nothing caused it. As `inspect` shows it. */
  cause: ({failure}) => headlineOf(failure.exception).class,
  /** The exception that the family's own header names, caused by something or not. */
  class: ({failure}) => failure.exception?.class ?? null,
  /** The exception around the root cause. */
  wrapper: ({failure}) => wrapperOf(failure.exception),
  component: ({failure}) => failure.component ?? null,
  connector: ({failure}) => failure.connector ?? null,
  task: ({failure}) => failure.task ?? null,
  group: ({failure}) => failure.group ?? null,
  app: ({failure}) => failure.app ?? null,
  dialect: ({failure}) => failure.dialect,
  /** Topic-partition of the first failure. */
  origin: ({failure}) => topicPartition(failure.origin),
  'origin-topic': ({failure}) => failure.origin?.topic ?? null,
  /** Topic-partition of the newest failure. */
  last: ({failure}) => topicPartition(failure.last ?? failure.origin),
  topic: ({record}) => record.topic,
  partition: ({record}) => record.partition,
  /** Beginning of the hour, UTC. */
  hour: ({record}) => truncated(record.timestamp, HOUR_MS, 'YYYY-MM-DDTHH:00:00Z'.length),
  /** Date, UTC. */
  day: ({record}) => truncated(record.timestamp, DAY_MS, 'YYYY-MM-DD'.length),
} as const satisfies Record<string, (deadLetter: DeadLetter, context: GroupContext) => GroupValue>

/** Word of `--by`. */
export type GroupKey = keyof typeof GROUP_KEYS

/** True for a word that `--by` accepts. */
export function isGroupKey(word: string): word is GroupKey {
  return Object.hasOwn(GROUP_KEYS, word)
}

/** Connect's own exception carries others, and is what its converters, transforms and tasks report as theirs. */
const CONNECT_EXCEPTION = 'org.apache.kafka.connect.errors.ConnectException'

function reportedException(exception: Failure['exception']): string | null {
  const outer = exception?.class ?? null
  const isReported = outer !== null && (outer === CONNECT_EXCEPTION || !WRAPPER_CLASSES.has(outer))
  return isReported ? outer : headlineOf(exception).class
}

function wrapperOf(exception: Failure['exception']): string | null {
  const outer = exception?.class ?? null
  return outer === headlineOf(exception).class ? null : outer
}

function topicPartition(coordinates: RecordCoordinates | undefined): string | null {
  if (coordinates?.topic === undefined) return null
  return coordinates.partition === undefined ? coordinates.topic : `${coordinates.topic}-${coordinates.partition}`
}

function truncated(timestamp: bigint | null, widthMs: bigint, length: number): string | null {
  if (timestamp === null || timestamp < 0n || timestamp > MAX_TIME_MS) return null
  const text = new Date(Number(timestamp - (timestamp % widthMs))).toISOString().replace('.000Z', 'Z')
  return text.slice(0, length)
}
