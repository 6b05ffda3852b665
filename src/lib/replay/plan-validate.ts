import {isFailureField} from '../dialects/mapped-fields.ts'
import {UsageError} from '../errors.ts'
import {parseFilterSpec} from '../select/filter-spec.ts'
import {parseAskedFormats} from '../serde/index.ts'
import {CHECKS} from './checks.ts'
import {DEFAULT_ERRORS, PLAN_VERSION} from './plan.ts'
import type {ReplayPlan} from './plan.ts'

type Json = Readonly<Record<string, unknown>>
/** Throws an error that names the place when the value is not what it should be. */
type Rule = (value: unknown, at: string) => void

const INT = /^(?:0|-?[1-9][0-9]{0,18})$/

function fail(at: string, wanted: string): never {
  throw new UsageError(`plan file: ${at} must be ${wanted}`, {code: 'E_PLAN_INVALID', context: {at}})
}

const when =
  (test: (value: unknown) => boolean, wanted: string): Rule =>
  (value, at) => {
    if (!test(value)) fail(at, wanted)
  }

const text = when(value => typeof value === 'string', 'a string')
const flag = when(value => typeof value === 'boolean', 'true or false')
const count = when(
  value => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
  'a whole number, at least 0',
)
const offset = when(
  value => typeof value === 'string' && INT.test(value) && !value.startsWith('-'),
  'an offset, as text',
)
const int64 = when(value => typeof value === 'string' && INT.test(value), 'a whole number, as text')
const rate = when(value => typeof value === 'number' && Number.isFinite(value) && value > 0, 'a number above 0')

const oneOf = (...words: readonly unknown[]): Rule =>
  when(value => words.includes(value), `one of ${words.map(word => JSON.stringify(word)).join(', ')}`)

const orNull =
  (rule: Rule): Rule =>
  (value, at) => {
    if (value !== null) rule(value, at)
  }

const list =
  (rule: Rule): Rule =>
  (value, at) => {
    if (!isList(value)) fail(at, 'a list')
    for (const [index, item] of value.entries()) rule(item, `${at}[${index}]`)
  }

const object =
  (members: Readonly<Record<string, Rule>>): Rule =>
  (value, at) => {
    if (!isObject(value)) fail(at, 'an object')
    for (const [name, rule] of Object.entries(members)) {
      const inner = at === '' ? name : `${at}.${name}`
      if (!Object.hasOwn(value, name)) fail(inner, 'given')
      rule(value[name], inner)
    }
    const unknown = Object.keys(value).find(name => !Object.hasOwn(members, name))
    // A member that this version does not know may change what a plan means: it is never ignored.
    if (unknown !== undefined) fail(at === '' ? unknown : `${at}.${unknown}`, 'left out: this version does not know it')
  }

const filters: Rule = (value, at) => {
  try {
    parseFilterSpec(value)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`plan file: ${at}: ${error.message}`, {
      code: 'E_PLAN_INVALID',
      hints: error.hints,
      context: {at},
      cause: error,
    })
  }
}

const offsets = when(isOffsetList, 'a list of offsets and ranges such as "7" and "9-12", ascending')
const checkId = oneOf(...CHECKS.map(({id}) => id))
const allowableId = oneOf(...CHECKS.filter(({allowable}) => allowable).map(({id}) => id))
const partitionOffsets = list(object({topic: text, partition: count, offsets}))

const facts = object({
  topic: text,
  topicId: orNull(text),
  partitions: orNull(count),
  maxMessageBytes: orNull(count),
  retentionMs: orNull(int64),
  cleanupPolicy: orNull(text),
  timestampType: orNull(oneOf('CreateTime', 'LogAppendTime')),
  timestampBeforeMaxMs: orNull(int64),
  timestampAfterMaxMs: orNull(int64),
  configError: orNull(text),
})

const range = object({
  topic: text,
  topicId: orNull(text),
  partition: count,
  from: offset,
  to: offset,
  fromTime: orNull(int64),
  toTime: orNull(int64),
  selected: count,
})

const cluster = {kind: oneOf('kafka', 'archive'), clusterId: orNull(text), name: text}

const checkResult: Rule = (value, at) => {
  const members = {
    id: text,
    level: oneOf('ok', 'warn', 'refuse', 'allowed', 'skipped', 'left-out', 'unknown'),
    count,
    detail: text,
    addresses: list(text),
  }
  const hasHint = typeof value === 'object' && value !== null && 'hint' in value
  object(hasHint ? {...members, hint: text} : members)(value, at)
}

const ledger: Rule = (value, at) => {
  const kind = isObject(value) ? value['kind'] : undefined
  const members = kind === 'topic' ? {name: text} : kind === 'file' ? {path: text} : {}
  object({kind: oneOf('topic', 'file', 'archive', 'none'), ...members})(value, at)
}

const decodeFormat =
  (part: 'key' | 'value'): Rule =>
  (value, at) => {
    text(value, at)
    try {
      parseAskedFormats([`${part}=${String(value)}`])
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      fail(at, 'a format that --decode takes')
    }
  }

const errors = object({
  tolerance: oneOf('none', 'all'),
  retryTimeoutMs: int64,
  retryDelayMaxMs: when(value => typeof value === 'string' && /^[1-9][0-9]{0,18}$/.test(value), 'at least 1, as text'),
  log: flag,
  logIncludeMessages: flag,
})

const headerMembers = {
  strip: flag,
  keep: list(text),
  drop: list(text),
  set: list(object({name: text, value: text})),
  provenance: flag,
}

const headers: Rule = (value, at) => {
  const mapped = isObject(value) && isObject(value['mappings']) ? value['mappings'] : null
  if (mapped === null) return object(headerMembers)(value, at)
  const unknown = Object.keys(mapped).find(field => !isFailureField(field))
  if (unknown !== undefined) fail(`${at}.mappings.${unknown}`, 'left out: this version does not know it')
  const mappings = object(Object.fromEntries(Object.keys(mapped).map(field => [field, list(text)])))
  object({...headerMembers, mappings})(value, at)
}

const planMembers = {
  planVersion: oneOf(PLAN_VERSION),
  createdAt: int64,
  source: object({
    ...cluster,
    isolationLevel: oneOf('read_committed', 'read_uncommitted'),
    ranges: list(range),
    filters,
    include: orNull(partitionOffsets),
    exclude: partitionOffsets,
    held: partitionOffsets,
  }),
  target: object({
    ...cluster,
    topic: text,
    partitionRule: oneOf('origin', 'key'),
    partitionFallback: oneOf('key', null),
    topics: list(facts),
  }),
  headers,
  timestamp: oneOf('default', 'original', 'now'),
  order: oneOf('origin', 'dlq'),
  delivery: oneOf('exactly-once', 'at-least-once'),
  ledger,
  handled: oneOf('hide', 'show', 'only'),
  maxAttempts: when(
    value => typeof value === 'number' && Number.isSafeInteger(value) && value >= 1,
    'a whole number, at least 1',
  ),
  errors,
  parking: orNull(facts),
  rate: orNull(rate),
  bytesRate: orNull(rate),
  compression: oneOf('none', 'gzip', 'snappy', 'lz4', 'zstd'),
  allow: list(allowableId),
  skip: list(checkId),
  checks: list(checkResult),
  counts: object({selected: count, toReplay: count, skipped: count, held: count, parked: count, refused: count}),
  targets: list(object({topic: text, partition: count, count, bytes: count})),
  fingerprints: list(object({fingerprint: orNull(text), count})),
  samples: list(
    object({
      kind: text,
      address: text,
      target: text,
      before: list(text),
      after: list(text),
      removed: list(text),
      added: list(text),
      harmful: list(text),
      payloadRestored: flag,
      timestamp: orNull(int64),
    }),
  ),
}

/** Members that a plan has only when they say something. */
const optionalMembers = {
  resendUnknown: oneOf(true),
  fromOrigin: object({topics: list(object({topic: text, topicId: orNull(text)}))}),
  decode: (value: unknown, at: string) => {
    const parts = (['key', 'value'] as const).filter(part => isObject(value) && part in value)
    object({registry: flag, ...Object.fromEntries(parts.map(part => [part, decodeFormat(part)]))})(value, at)
  },
}

const plan: Rule = (value, at) => {
  const optional = Object.entries(optionalMembers).filter(([name]) => isObject(value) && name in value)
  object({...planMembers, ...Object.fromEntries(optional)})(value, at)
}

/** A plan of version 2, before errors were handled as in Connect and could be parked: it means what it meant. */
function upgraded(json: unknown): unknown {
  if (!isObject(json) || json['planVersion'] !== 2 || !isObject(json['counts'])) return json
  // Such members were not known then: it is no plan of version 2.
  if ('errors' in json || 'parking' in json || 'samples' in json || 'parked' in json['counts']) return json
  const added = {planVersion: PLAN_VERSION, errors: DEFAULT_ERRORS, parking: null, samples: []}
  // What it showed of its first record decides nothing.
  const {sample: _, ...members} = json
  return {...members, ...added, counts: {...json['counts'], parked: 0}}
}

/**
 * Check that parsed JSON is a plan of this version, or of version 2 (which is read as one without a parking topic, so that a
 * run that an older kdlq began can be resumed).
 * @throws UsageError that names the place and what it should be; code `E_PLAN_VERSION` for another version
 */
export function validatePlan(given: unknown): ReplayPlan {
  const json = upgraded(given)
  const version = isObject(json) ? json['planVersion'] : undefined
  if (version !== undefined && version !== PLAN_VERSION) {
    throw new UsageError(
      `plan file: version ${JSON.stringify(version)} is not known, this kdlq reads ${PLAN_VERSION}`,
      {
        code: 'E_PLAN_VERSION',
        hints: ['make the plan again with this kdlq: kdlq replay ... --plan-out FILE'],
      },
    )
  }
  assertPlan(json)
  assertSums(json)
  return json
}

/** What a plan shows is what it does: numbers that do not agree were changed by hand. */
function assertSums({source: {ranges}, counts, targets, parking}: ReplayPlan): void {
  const {selected, toReplay, skipped, held, parked, refused} = counts
  if (sum(ranges.map(range => range.selected)) !== selected) {
    fail('counts.selected', 'the sum of source.ranges[].selected')
  }
  if (toReplay + skipped + held + parked + refused !== selected) {
    fail('counts.selected', 'toReplay + skipped + held + parked + refused')
  }
  if (parked > 0 && parking === null) fail('counts.parked', '0 without a parking topic')
  if (refused === 0 && sum(targets.map(target => target.count)) !== toReplay) {
    fail('counts.toReplay', 'the sum of targets[].count')
  }
  const seen = new Set<string>()
  for (const [index, {topic, partition, from, to}] of ranges.entries()) {
    const at = `source.ranges[${index}]`
    if (BigInt(to) < BigInt(from)) fail(`${at}.to`, 'at least from')
    const place = `${partition} ${topic}`
    if (seen.has(place)) fail(at, 'the only range of its partition')
    seen.add(place)
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function assertPlan(json: unknown): asserts json is ReplayPlan {
  plan(json, '')
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !isList(value)
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isOffsetList(value: unknown): boolean {
  if (!isList(value)) return false
  let last = -1n
  for (const item of value) {
    const match = typeof item === 'string' ? /^([0-9]{1,19})(?:-([0-9]{1,19}))?$/.exec(item) : null
    if (match === null) return false
    const from = BigInt(match[1] ?? '')
    const to = BigInt(match[2] ?? match[1] ?? '')
    if (from <= last || to < from) return false
    last = to
  }
  return true
}
