import type {CelInput} from '@bufbuild/cel'
import {recordBytes} from '../../dead-letter/dead-letter.ts'
import type {DeadLetter, Handled} from '../../dead-letter/model.ts'
import type {Failure, FailureException, RecordCoordinates} from '../../dialects/model.ts'
import type {KafkaRecord} from '../../kafka/record.ts'

/** Makes a CEL timestamp of epoch ms. */
export type MakeTimestamp = (epochMs: bigint) => CelInput

/** Reads one field of a dead letter as CEL takes it; null when the record does not have it. */
type Read = (deadLetter: DeadLetter, timestamp: MakeTimestamp) => CelInput

/**
 * What an expression may name: a field, or an object of fields (null when the record has none of it), or a list whose
 * elements have these members. `any` is data of the record: everything may be asked of it.
 */
export type FieldNode =
  | {readonly kind: 'leaf'; readonly read: Read}
  | {readonly kind: 'any'; readonly read: Read}
  | {readonly kind: 'list'; readonly members: readonly string[]; readonly read: Read}
  | {
      readonly kind: 'object'
      readonly members: Readonly<Record<string, FieldNode>>
      readonly exists: (of: DeadLetter) => boolean
    }

const text = (read: (failure: Failure) => string | undefined): FieldNode => ({
  kind: 'leaf',
  read: ({failure}) => read(failure) ?? null,
})

const count = (read: (failure: Failure) => number | undefined): FieldNode => ({
  kind: 'leaf',
  read: ({failure}) => integer(read(failure)),
})

const time = (read: (failure: Failure) => string | undefined): FieldNode => ({
  kind: 'leaf',
  read: ({failure}, timestamp) => timestampOf(read(failure), timestamp),
})

const texts = (read: (failure: Failure) => readonly string[] | undefined): FieldNode => ({
  kind: 'list',
  members: [],
  read: ({failure}) => read(failure) ?? null,
})

const always = (): boolean => true

function coordinates(read: (failure: Failure) => RecordCoordinates | undefined): FieldNode {
  return {
    kind: 'object',
    exists: ({failure}) => read(failure) !== undefined,
    members: {
      topic: text(failure => read(failure)?.topic),
      partition: count(failure => read(failure)?.partition),
      offset: {kind: 'leaf', read: ({failure}) => bigIntOf(read(failure)?.offset)},
      timestamp: time(failure => read(failure)?.timestamp),
      timestampType: text(failure => read(failure)?.timestampType),
    },
  }
}

function exception(
  read: (failure: Failure) => FailureException | undefined,
  names: readonly (keyof FailureException)[],
): FieldNode {
  return {
    kind: 'object',
    exists: ({failure}) => read(failure) !== undefined,
    members: Object.fromEntries(names.map(name => [name, text(failure => read(failure)?.[name])])),
  }
}

const FAILURE: Readonly<Record<keyof Failure, FieldNode>> = {
  dialect: text(failure => failure.dialect),
  chain: texts(failure => failure.chain),
  hops: count(failure => failure.hops),
  origin: coordinates(failure => failure.origin),
  last: coordinates(failure => failure.last),
  group: text(failure => failure.group),
  connector: text(failure => failure.connector),
  task: count(failure => failure.task),
  app: text(failure => failure.app),
  taskId: text(failure => failure.taskId),
  stage: text(failure => failure.stage),
  component: text(failure => failure.component),
  description: text(failure => failure.description),
  exception: exception(failure => failure.exception, ['class', 'message', 'cause', 'causeMessage', 'stack', 'code']),
  keyException: exception(failure => failure.keyException, ['class', 'message', 'stack']),
  attempts: count(failure => failure.attempts),
  deliveryAttempt: count(failure => failure.deliveryAttempt),
  kills: count(failure => failure.kills),
  redelivered: count(failure => failure.redelivered),
  queueId: text(failure => failure.queueId),
  traceId: text(failure => failure.traceId),
  condition: text(failure => failure.condition),
  dueAt: time(failure => failure.dueAt),
  failedAt: time(failure => failure.failedAt),
  firstFailedAt: time(failure => failure.firstFailedAt),
  failedAtText: text(failure => failure.failedAtText),
  sourceTimestampText: text(failure => failure.sourceTimestampText),
  payload: text(failure => failure.payload),
  rawKey: text(failure => failure.rawKey),
  rawValue: text(failure => failure.rawValue),
  rawHeaders: {kind: 'any', read: ({failure}) => failure.rawHeaders ?? null},
  warnings: texts(failure => failure.warnings),
}

const record = (read: (record: KafkaRecord) => CelInput): FieldNode => ({
  kind: 'leaf',
  read: deadLetter => read(deadLetter.record),
})

const handled = (read: (entry: Handled, timestamp: MakeTimestamp) => CelInput): FieldNode => ({
  kind: 'leaf',
  read: ({handled: entry}, timestamp) => (entry === undefined || entry === null ? null : read(entry, timestamp)),
})

/** Every field of a dead letter, as docs and JSON name them; `value` and `key` are decoded. */
export const WHERE_FIELDS: FieldNode & {readonly kind: 'object'} = {
  kind: 'object',
  exists: always,
  members: {
    address: {kind: 'leaf', read: ({address}) => address},
    topic: record(({topic}) => topic),
    partition: record(({partition}) => BigInt(partition)),
    offset: record(({offset}) => offset),
    timestamp: {
      kind: 'leaf',
      read: ({record: {timestamp}}, make) => timestampOf(timestamp === null ? undefined : String(timestamp), make),
    },
    timestampType: record(({timestampType}) => timestampType),
    key: {kind: 'any', read: ({record: {key}}) => decodedBytes(key)},
    value: {kind: 'any', read: ({record: {value}}) => decodedBytes(value)},
    headers: {
      kind: 'list',
      members: ['name', 'value'],
      read: ({record: {headers}}) =>
        headers.map(
          ({name, value}) =>
            new Map([
              ['name', textOrBytes(name)],
              ['value', value === null ? null : textOrBytes(value)],
            ]),
        ),
    },
    failure: {kind: 'object', exists: always, members: FAILURE},
    fingerprint: {kind: 'leaf', read: ({fingerprint}) => fingerprint},
    // Without a ledger that is read no record has an entry.
    handled: {
      kind: 'object',
      exists: ({handled: entry}) => entry !== undefined && entry !== null,
      members: {
        state: handled(({state}) => state),
        run: handled(({run}) => run),
        at: handled(({at}, make) => timestampOf(at, make)),
        by: handled(({by}) => by),
        attempt: handled(({attempt}) => BigInt(attempt)),
        target: {
          kind: 'object',
          exists: ({handled: entry}) => (entry?.target ?? null) !== null,
          members: {
            topic: handled(({target}) => target?.topic ?? null),
            partition: handled(({target}) => (target === null ? null : BigInt(target.partition))),
            offset: handled(({target}) => bigIntOf(target?.offset ?? undefined)),
          },
        },
        reason: handled(({reason}) => reason),
        stale: handled(({stale}) => stale === true),
      },
    },
    bytes: {
      kind: 'object',
      exists: always,
      members: {
        key: record(one => BigInt(recordBytes(one).key)),
        value: record(one => BigInt(recordBytes(one).value)),
        headers: record(one => BigInt(recordBytes(one).headers)),
      },
    },
  },
}

/** The value of a field, objects with all their members. */
export function readField(node: FieldNode, deadLetter: DeadLetter, timestamp: MakeTimestamp): CelInput {
  if (node.kind !== 'object') return node.read(deadLetter, timestamp)
  if (!node.exists(deadLetter)) return null
  return new Map(
    Object.entries(node.members).map(([name, member]) => [name, readField(member, deadLetter, timestamp)] as const),
  )
}

/** Every field and object of fields by its dotted path. */
export function* wherePaths(node: FieldNode = WHERE_FIELDS, prefix = ''): Generator<[path: string, node: FieldNode]> {
  if (node.kind !== 'object') return
  for (const [name, member] of Object.entries(node.members)) {
    yield [`${prefix}${name}`, member]
    yield* wherePaths(member, `${prefix}${name}.`)
  }
}

function integer(value: number | undefined): bigint | null {
  return value === undefined || !Number.isSafeInteger(value) ? null : BigInt(value)
}

function bigIntOf(decimal: string | undefined): bigint | null {
  return decimal !== undefined && /^-?[0-9]{1,19}$/.test(decimal) ? BigInt(decimal) : null
}

/** CEL's timestamps go from year 1 to 9999; -1 is Kafka's "none". */
const LATEST_MS = 253_402_300_799_999n

function timestampOf(decimal: string | undefined, make: MakeTimestamp): CelInput {
  const ms = bigIntOf(decimal)
  return ms === null || ms < 0n || ms > LATEST_MS ? null : make(ms)
}

function textOrBytes(bytes: Buffer): CelInput {
  const decoded = decodeUtf8(bytes)
  return decoded ?? bytes
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes)
  } catch {
    return null
  }
}

/**
 * JSON decoded, else text, else the bytes; null only for a Kafka null. The four bytes `null` stay text for that reason:
 * `value == null` finds tombstones and nothing else.
 */
function decodedBytes(bytes: Buffer | null): CelInput {
  if (bytes === null) return null
  const decoded = decodeUtf8(bytes)
  if (decoded === null) return bytes
  try {
    return fromJson(JSON.parse(decoded) as unknown) ?? decoded
  } catch (error) {
    // Too deeply nested to walk: an error of this record, not text.
    if (error instanceof RangeError) throw error
    return decoded
  }
}

/** Objects become maps: the evaluator takes plain objects with certain member names for messages of its own. */
function fromJson(json: unknown): CelInput {
  if (Array.isArray(json)) return json.map(fromJson)
  if (typeof json === 'object' && json !== null) {
    return new Map(Object.entries(json).map(([name, value]) => [name, fromJson(value)] as const))
  }
  return typeof json === 'string' || typeof json === 'number' || typeof json === 'boolean' ? json : null
}
