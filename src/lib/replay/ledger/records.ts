import {claimKey, entryKey, LAYOUT_KEY, placeName, statusKey} from './names.ts'
import {LEDGER_VERSION} from './types.ts'
import type {LedgerClaim, LedgerEntry, LedgerRecord, LedgerRunStatus, LedgerTarget} from './types.ts'

/** Longest reason that is stored, characters; the rest is cut. */
const MAX_REASON = 500
const MAX_BY = 200

/** What a ledger says about itself. */
export function layoutRecord(partitions: number): LedgerRecord {
  return {route: null, key: LAYOUT_KEY, value: JSON.stringify({v: LEDGER_VERSION, partitions})}
}

/** One outcome; offsets and times are decimal strings in it. */
export function entryRecord(entry: LedgerEntry): LedgerRecord {
  const {source, run, state, origin, target, sha256, attempt, by, at, reason, scanFrom} = entry
  const value = {
    v: LEDGER_VERSION,
    state,
    run,
    origin:
      origin === null
        ? null
        : {topic: origin.topic, partition: origin.partition, offset: origin.offset?.toString() ?? null},
    target: target === null ? null : targetJson(target),
    sha256: sha256.toString('hex'),
    attempt,
    by: cut(by, MAX_BY),
    at: at.toString(),
    reason: cut(reason, MAX_REASON),
    ...(scanFrom === null ? {} : {scanFrom: scanFrom.toString()}),
  }
  return {route: source.topic, key: entryKey(source, source.offset, run), value: JSON.stringify(value)}
}

/** A claim on one partition. */
export function claimRecord({source, run, by, at}: LedgerClaim): LedgerRecord {
  const value = {v: LEDGER_VERSION, run, by: cut(by, MAX_BY), at: at.toString()}
  return {route: source.topic, key: claimKey(source, run), value: JSON.stringify(value)}
}

/** The end of a claim: withdrawn, done, or taken over. */
export function claimEndRecord({source, run}: Pick<LedgerClaim, 'source' | 'run'>): LedgerRecord {
  return {route: source.topic, key: claimKey(source, run), value: null}
}

/** How a run stands. */
export function statusRecord({run, state, at, by, reason, counts, metrics}: LedgerRunStatus): LedgerRecord {
  const value = {
    v: LEDGER_VERSION,
    run,
    state,
    at: at.toString(),
    by: cut(by, MAX_BY),
    reason: cut(reason, MAX_REASON),
    counts,
    metrics,
  }
  return {route: run, key: statusKey(run), value: JSON.stringify(value)}
}

/** `topic:partition` of a claim, for messages. */
export function claimPlace({source}: Pick<LedgerClaim, 'source'>): string {
  return placeName(source.topic, source.partition)
}

function targetJson({topic, partition, offset, clusterId}: LedgerTarget): Record<string, string | number | null> {
  const target = {topic, partition, offset: offset?.toString() ?? null}
  return clusterId === null ? target : {...target, cluster: clusterId}
}

function cut(text: string | null, length: number): string | null {
  return text === null || text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
}
