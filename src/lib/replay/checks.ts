import type {Failure} from '../dialects/model.ts'
import {isLoopGuard} from '../dialects/loop-guards.ts'
import {hasConsistentOrigin, isHarmfulHeader, originalPayload, payloadState} from '../dialects/restore.ts'
import {isDlqName, originInName} from '../dialects/topic-name.ts'
import type {KafkaRecord, RecordHeader} from '../kafka/record.ts'
import {parkingSizeText} from './parked-copy.ts'
import {isExpired, outOfRange} from './target.ts'
import type {OriginFinding} from './from-origin-compare.ts'
import type {Destination, TargetFacts} from './target.ts'

/** What a check does when it finds something: refuse the run, say it, or leave the record out and say so. */
export type CheckLevel = 'refuse' | 'warn' | 'leave-out'

/** One dead letter as the checks see it. */
export interface CheckSubject {
  readonly record: KafkaRecord
  readonly failure: Failure
  /** What was found at the origin; null or left out = nobody looked. */
  readonly origin?: OriginFinding | null | undefined
  readonly destination: Destination
  /** What goes out; left out = not known. */
  readonly sentValue?: Buffer | null | undefined
  /** Null unless the destination is known. */
  readonly facts: TargetFacts | null
  /** Topics that the plan reads from on the target's own cluster; empty when source and target are different clusters. */
  readonly readTopics: ReadonlySet<string>
  /** Time that the record will carry, epoch ms. */
  readonly timestamp: bigint
  /** False when the time is the moment of sending. */
  readonly timestampKept: boolean
  /** The original time was asked for, but neither the record nor a header has it. */
  readonly timestampLost: boolean
  /** Headers as they go out; left out = not known. */
  readonly sentHeaders?: () => readonly RecordHeader[]
  /** Bytes of a batch with nothing but this record, headers changed, before compression. */
  readonly outgoingBytes: number
  /** Bytes of the same batch with all of the dead letter's own headers. */
  deadLetterBytes(): number
  /** The parking topic; null or left out = there is none. */
  readonly parking?: TargetFacts | null | undefined
  /** The ledger's entry about another record at this address; null = none. */
  readonly stale: {readonly state: string; readonly run: string} | null
  /** Why key or value cannot be decoded as asked; null or left out = nothing was found. */
  readonly unreadable?: string | null | undefined
  /** Wall clock when the plan was made, epoch ms. */
  readonly nowMs: bigint
}

/** One check of single records. Adding one is one entry in `CHECKS`. */
export interface CheckDefinition {
  readonly id: string
  readonly level: CheckLevel
  /** False: `--allow` cannot send such a record. */
  readonly allowable: boolean
  /** What it inspects, for help and docs. */
  readonly inspects: string
  /** What a person can do about it. */
  readonly hint: string
  /** The plan holds the hint also when it only warns. */
  readonly hintsAtWarning?: true
  /** One line about this record, or null when there is nothing to say. Absent: found by the planner itself. */
  readonly find?: (subject: CheckSubject) => string | null
  /** Why the check cannot be made against this target, or null. */
  readonly blind?: (facts: TargetFacts) => string | null
}

const configBlind = (facts: TargetFacts): string | null => facts.configError

/** All checks, in the order in which they are told. The first `refuse` that finds something names a record's fate. */
export const CHECKS: readonly CheckDefinition[] = [
  {
    id: 'pointer',
    level: 'refuse',
    allowable: false,
    inspects: 'dead letters that only point at a record: their payload is not in the topic',
    hint: 'fetch the originals with --from-origin, or leave them out with --skip pointer',
    find: ({record, failure, origin}) => {
      if (hasRecord(origin) || payloadState(record, failure) !== 'absent') return null
      return origin == null
        ? 'holds no payload, only the place of the original'
        : `unrecoverable: holds no payload, and ${origin.reason}`
    },
  },
  {
    id: 'value-lost',
    level: 'refuse',
    allowable: true,
    inspects: 'dead letters whose original value is not in the record',
    hint: 'fetch the originals with --from-origin, or leave them out with --skip value-lost',
    find: ({record, failure, origin}) =>
      !hasRecord(origin) && payloadState(record, failure) === 'lost' ? 'the original value is not in the record' : null,
  },
  {
    id: 'multi-record',
    level: 'refuse',
    allowable: false,
    inspects: 'reports of a whole batch: which of its records failed is not known',
    hint: 'leave them out with --skip multi-record, and replay the places that they name from the topic itself',
    find: ({failure}) =>
      failure.warnings?.includes('multi_record_envelope') === true ? 'the report holds several records' : null,
  },
  {
    id: 'origin-gone',
    level: 'refuse',
    allowable: true,
    inspects: 'originals that --from-origin does not find any more, or cannot read',
    hint: 'leave them out with --skip origin-gone, or send the copies that the dead letters hold with --allow origin-gone',
    find: ({origin}) => (origin?.state === 'gone' || origin?.state === 'unknown' ? origin.reason : null),
  },
  {
    id: 'origin-other',
    level: 'refuse',
    allowable: true,
    inspects: 'places of originals where --from-origin finds another record: the topic was created again',
    hint: 'leave them out with --skip origin-other, send the copies without --from-origin, or what stands there with --allow origin-other',
    find: ({origin}) => (origin?.state === 'other' ? origin.reason : null),
  },
  {
    id: 'ragged-origin',
    level: 'refuse',
    allowable: true,
    inspects: 'origin headers that occur different numbers of times, so that they may belong to different failures',
    hint: 'look at one with kdlq show, then --skip ragged-origin, or --allow ragged-origin to trust the first of each',
    find: ({failure}) =>
      failure.origin !== undefined && !hasConsistentOrigin(failure)
        ? `origin may be put together from different failures: ${originText(failure)}`
        : null,
  },
  {
    id: 'no-origin',
    level: 'refuse',
    allowable: false,
    inspects: 'dead letters that do not say which topic they came from',
    hint: 'name the target with --target-topic, or leave them out with --skip no-origin; Connect writes the origin only with errors.deadletterqueue.context.headers.enable=true',
    find: ({destination, record}) => {
      if (destination.kind !== 'no-origin') return null
      const guess = originInName(record.topic)
      return `headers name no origin topic${guess === null ? '' : `; by the name of ${record.topic} it may be ${guess}`}`
    },
  },
  {
    id: 'illegal-topic',
    level: 'refuse',
    allowable: false,
    inspects: 'target names that Kafka does not allow',
    hint: 'name the target with --target-topic, or leave them out with --skip illegal-topic',
    find: ({destination}) =>
      destination.kind === 'illegal-topic' ? `not a legal topic name: ${JSON.stringify(destination.topic)}` : null,
  },
  {
    id: 'target-missing',
    level: 'refuse',
    allowable: false,
    inspects: 'target topics that do not exist or may not be seen',
    hint: 'create the topic, or name another one with --target-topic',
    find: ({destination}) => (destination.kind === 'target-missing' ? `no topic ${destination.topic}` : null),
  },
  {
    id: 'target-partition',
    level: 'refuse',
    allowable: false,
    inspects: 'origin partitions that the target topic does not have',
    hint: 'let the key decide with --partition-fallback key, or for all records with --partition-rule key',
    find: ({destination}) => {
      if (destination.kind !== 'target-partition') return null
      const {topic, partition, partitions} = destination
      if (partitions === null) return 'an archive has no number of partitions that a key could be mapped to'
      return partition === null
        ? 'headers name no origin partition'
        : `${topic} has ${partitions} partition${partitions === 1 ? '' : 's'}, no partition ${partition}`
    },
  },
  {
    id: 'target-is-dlq',
    level: 'refuse',
    allowable: true,
    inspects: 'targets that are read by this very run, or are named like a dead letter topic',
    hint: 'name another target with --target-topic, or send with --allow target-is-dlq',
    find: ({destination, readTopics}) => {
      if (destination.kind !== 'known') return null
      if (readTopics.has(destination.topic)) return `${destination.topic} is the topic being read`
      return isDlqName(destination.topic) ? `${destination.topic} is named like a dead letter topic` : null
    },
  },
  {
    id: 'tombstone',
    level: 'refuse',
    allowable: true,
    inspects: 'null values: a delete for whoever reads the target',
    hint: 'send the deletes with --allow tombstone, or leave them out with --skip tombstone',
    find: ({record, failure, origin, sentValue}) => {
      if (hasRecord(origin)) return sentValue === null ? 'value is null: a delete' : null
      if (payloadState(record, failure) !== 'whole') return null
      return originalPayload(record, failure).value === null ? 'value is null: a delete' : null
    },
  },
  {
    id: 'record-size',
    level: 'refuse',
    allowable: true,
    inspects: 'records larger than max.message.bytes of the target, after headers were changed and before compression',
    hint: 'raise max.message.bytes of the target, or leave them out with --skip record-size; --allow record-size lets the broker decide after compression',
    blind: configBlind,
    find: subject => {
      const most = subject.facts?.maxMessageBytes ?? null
      if (most === null || subject.outgoingBytes <= most) return null
      return `${subject.outgoingBytes} bytes (${subject.deadLetterBytes()} as dead letter), target takes ${most}`
    },
  },
  {
    id: 'timestamp-retention',
    level: 'refuse',
    allowable: true,
    inspects:
      'kept timestamps older than retention.ms of the target: Kafka would delete the record again within minutes',
    hint: 'send with --timestamp now, or raise retention.ms of the target',
    blind: configBlind,
    find: ({facts, timestamp, timestampKept, nowMs}) =>
      facts !== null && timestampKept && isExpired(facts, timestamp, nowMs)
        ? `time ${timestamp} is older than the target's retention.ms ${facts.retentionMs ?? ''} allows`
        : null,
  },
  {
    id: 'timestamp-range',
    level: 'refuse',
    allowable: true,
    inspects:
      'kept timestamps outside message.timestamp.before.max.ms and message.timestamp.after.max.ms of the target',
    hint: 'send with --timestamp now',
    blind: configBlind,
    find: ({facts, timestamp, timestampKept, nowMs}) => {
      const where = facts === null || !timestampKept ? null : outOfRange(facts, timestamp, nowMs)
      return where === null ? null : `time ${timestamp} is too far in the ${where}`
    },
  },
  {
    id: 'recreated',
    level: 'refuse',
    allowable: true,
    inspects:
      'dead letters whose place the ledger knows from another record: the topic was recreated, or key or value differ',
    hint: 'look at one with kdlq show; send them with --allow recreated: the old entries count for nothing',
    find: ({stale}) =>
      stale === null ? null : `the ledger has another record at this address (${stale.state} by ${stale.run})`,
  },
  {
    id: 'ledger-retention',
    level: 'refuse',
    allowable: true,
    inspects: 'a ledger topic that Kafka empties before the dead letters go: what was handled would be sent again',
    hint: 'set cleanup.policy=compact on the ledger topic',
  },
  {
    id: 'claimed',
    level: 'refuse',
    allowable: false,
    inspects: 'partitions that another run is working on',
    hint: 'wait for that run, resume it with kdlq resume RUN, or end it for good with --take-over RUN',
  },
  {
    id: 'handled',
    level: 'leave-out',
    allowable: true,
    inspects: 'dead letters that the ledger knows as handled',
    hint: 'send them again with --handled show',
  },
  {
    id: 'attempt-cap',
    level: 'leave-out',
    allowable: true,
    inspects:
      'dead letters that were replayed as often as --max-attempts allows: parked where there is a parking topic, else held',
    hint: 'raise --max-attempts, or send them with --allow attempt-cap',
  },
  {
    id: 'duplicate-origin',
    level: 'leave-out',
    allowable: true,
    inspects:
      'dead letters of one and the same original record: only the newest is sent; refused when key or value differ',
    hint: 'send every copy with --allow duplicate-origin, or leave the older ones out although they differ with --skip duplicate-origin',
  },
  {
    id: 'copy-differs',
    level: 'warn',
    allowable: true,
    inspects: 'dead letters whose copy is not byte-equal to the original that --from-origin sends',
    hint: 'nothing to do: the original is sent; a serializer of the dead letter producer wrote the copy anew',
    find: ({origin}) =>
      origin?.state === 'found' && origin.differences.length > 0
        ? `the copy is not the original in its ${origin.differences.join(', ')}`
        : null,
  },
  {
    id: 'schema',
    level: 'warn',
    allowable: false,
    inspects:
      'records that cannot be decoded as --decode says: they fail in the run, and are parked or counted as failed',
    hint: 'look at one with kdlq show; leave them out with --skip schema, or send without --decode',
    hintsAtWarning: true,
    find: ({unreadable}) => unreadable ?? null,
  },
  {
    id: 'log-append-time',
    level: 'warn',
    allowable: true,
    inspects: 'targets with message.timestamp.type=LogAppendTime: the broker overwrites the time',
    hint: 'expected when the original had the time of its append too',
    blind: configBlind,
    find: ({facts, timestampKept}) =>
      timestampKept && facts?.timestampType === 'LogAppendTime' ? 'the target replaces the kept time by its own' : null,
  },
  {
    id: 'timestamp-lost',
    level: 'warn',
    allowable: true,
    inspects: 'dead letters that no longer have the original time: the time of sending is used',
    hint: 'nothing to do; say --timestamp now to mean it',
    find: ({timestampLost}) => (timestampLost ? 'original time is not known, the time of sending is used' : null),
  },
  {
    id: 'loop-headers',
    level: 'warn',
    allowable: true,
    inspects: 'headers that go out although they make the next failure end early: counts and times of the first life',
    hint: 'remove them with --drop-header',
    find: ({failure, sentHeaders}) => {
      const name = sentHeaders?.().find(header => isLoopGuard(header) || isHarmfulHeader(header.name, failure))?.name
      return name === undefined
        ? null
        : `${name.toString('utf8')} goes out: the next failure may not be handled as a first one`
    },
  },
  {
    id: 'partition-unknown',
    level: 'warn',
    allowable: true,
    inspects: 'records without a key that go by key: they are spread, their order is gone',
    hint: 'keep the origin partition with --partition-rule origin',
    find: ({destination}) =>
      destination.kind === 'known' && destination.fallback === 'spread' ? 'no key: spread over the partitions' : null,
  },
  {
    id: 'parking',
    level: 'refuse',
    allowable: false,
    inspects: 'a parking topic that is not there, may not be seen, is read or written by this run, or is its ledger',
    hint: "create it, or name another one with --parking-topic ('' for none)",
  },
  {
    id: 'parking-copy',
    level: 'warn',
    allowable: true,
    inspects: 'records whose copy the parking topic may refuse for its size, and a compacted parking topic',
    hint: 'raise max.message.bytes of the parking topic above that of the dead letter topic',
    find: subject => parkingSizeText(subject.parking ?? null, () => subject.deadLetterBytes()),
  },
]

/** True when there is a record to send in place of the dead letter's copy. */
function hasRecord(
  origin: OriginFinding | null | undefined,
): origin is Extract<OriginFinding, {readonly record: KafkaRecord}> {
  return origin?.state === 'found' || origin?.state === 'other'
}

function originText({origin}: Failure): string {
  return `${origin?.topic ?? '?'}:${origin?.partition ?? '?'}:${origin?.offset ?? '?'}`
}
