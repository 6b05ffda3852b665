import {isOffset} from './names.ts'
import type {LedgerKey} from './names.ts'
import {LEDGER_STATES, LEDGER_VERSION} from './types.ts'
import type {
  LedgerClaim,
  LedgerEntry,
  LedgerOrigin,
  LedgerRunHead,
  LedgerRunStatus,
  LedgerState,
  LedgerTarget,
} from './types.ts'

/** Longest value of an entry, claim, head or status that is looked at, bytes; ours stay far below. */
const MAX_VALUE = 64 * 1024
const INT32_MAX = 0x7fff_ffff
/** Most attempts that an entry may tell. */
export const MAX_ATTEMPT = 0xffff

type Json = Readonly<Record<string, unknown>>

const STATES: ReadonlySet<unknown> = new Set(LEDGER_STATES)
const STATUS_STATES: ReadonlySet<unknown> = new Set(['completed', 'stopped', 'taken-over'])

/** Number of partitions that a layout record states; null when it is not of this version or makes no sense. */
export function parseLayout(value: Buffer): number | null {
  const json = parseVersioned(value)
  const partitions = json?.['partitions']
  return isCount(partitions) && partitions >= 1 && partitions <= 1_000_000 ? partitions : null
}

/** An entry; null when it is not one of ours. The key's run has to be the value's. */
export function parseEntry(key: Extract<LedgerKey, {kind: 'entry'}>, value: Buffer): LedgerEntry | null {
  const json = parseVersioned(value)
  if (json === null) return null
  const {state, run, sha256, attempt} = json
  const origin = parseOrigin(json['origin'])
  const target = parseTarget(json['target'])
  const at = parseInt64(json['at'])
  const by = parseText(json['by'])
  const reason = parseText(json['reason'])
  const scanFrom = parseInt64(json['scanFrom'] ?? null)
  if (!isState(state) || run !== key.run || !isCount(attempt) || attempt > MAX_ATTEMPT) return null
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return null
  if (origin === undefined || target === undefined || typeof at !== 'bigint') return null
  if (by === undefined || reason === undefined || scanFrom === undefined) return null
  const source = {...key.source, offset: key.offset}
  return {
    source,
    run: key.run,
    state,
    origin,
    target,
    sha256: Buffer.from(sha256, 'hex'),
    attempt,
    by,
    at,
    reason,
    scanFrom,
  }
}

/** A claim; null when it is not one of ours. */
export function parseClaim(key: Extract<LedgerKey, {kind: 'claim'}>, value: Buffer): LedgerClaim | null {
  const json = parseVersioned(value)
  const at = parseInt64(json?.['at'])
  const by = parseText(json?.['by'])
  if (json?.['run'] !== key.run || typeof at !== 'bigint' || by === undefined) return null
  return {source: key.source, run: key.run, by, at}
}

/** A run's head; null when it is not one of ours. */
export function parseRunHead(run: string, value: Buffer): LedgerRunHead | null {
  const json = parseVersioned(value)
  if (json === null || json['run'] !== run) return null
  const at = parseInt64(json['at'])
  const by = parseText(json['by'])
  const reason = parseText(json['reason'])
  const {version, pieces, bytes, sha256} = json
  if (typeof at !== 'bigint' || by === undefined || reason === undefined || typeof version !== 'string') return null
  if (!isCount(pieces) || !isCount(bytes) || typeof sha256 !== 'string') return null
  return {run, at, by, reason, version, pieces, bytes, sha256}
}

/** A run's status; null when it is not one of ours. */
export function parseRunStatus(run: string, value: Buffer): LedgerRunStatus | null {
  const json = parseVersioned(value)
  if (json === null || json['run'] !== run) return null
  const {state, counts, metrics} = json
  const at = parseInt64(json['at'])
  const by = parseText(json['by'])
  const reason = parseText(json['reason'])
  if (!isStatusState(state) || typeof at !== 'bigint' || by === undefined || reason === undefined) return null
  if (!isObject(counts) || !isCounts(counts)) return null
  const told = isObject(metrics) && isCounts(metrics) ? {metrics} : {}
  return {run, state, at, by, reason, counts, ...told}
}

function parseVersioned(value: Buffer): Json | null {
  if (value.length > MAX_VALUE) return null
  let json: unknown
  try {
    json = JSON.parse(value.toString('utf8'))
  } catch {
    return null
  }
  return isObject(json) && json['v'] === LEDGER_VERSION ? json : null
}

/** Undefined = broken. */
function parseOrigin(json: unknown): LedgerOrigin | null | undefined {
  if (json === null) return null
  if (!isObject(json)) return undefined
  const {topic, partition} = json
  const offset = parseInt64(json['offset'])
  if (typeof topic !== 'string' || offset === undefined) return undefined
  if (partition !== null && !isPartition(partition)) return undefined
  return {topic, partition, offset}
}

function parseTarget(json: unknown): LedgerTarget | null | undefined {
  if (json === null) return null
  if (!isObject(json)) return undefined
  const {topic, partition} = json
  const offset = parseInt64(json['offset'])
  const clusterId = parseText(json['cluster'] ?? null)
  if (typeof topic !== 'string' || !isPartition(partition) || offset === undefined || clusterId === undefined) {
    return undefined
  }
  return {topic, partition, offset, clusterId}
}

function parseInt64(json: unknown): bigint | null | undefined {
  if (json === null) return null
  return typeof json === 'string' && isOffset(json) ? BigInt(json) : undefined
}

function parseText(json: unknown): string | null | undefined {
  return json === null || typeof json === 'string' ? json : undefined
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isState(value: unknown): value is LedgerState {
  return STATES.has(value)
}

function isStatusState(value: unknown): value is LedgerRunStatus['state'] {
  return STATUS_STATES.has(value)
}

function isCounts(value: Json): value is Readonly<Record<string, number>> {
  return Object.values(value).every(isCount)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isPartition(value: unknown): value is number {
  return isCount(value) && value <= INT32_MAX
}
