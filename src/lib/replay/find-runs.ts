import type {Clock} from '../clock.ts'
import {RefusedError} from '../errors.ts'
import type {MetricsSnapshot} from '../connect-engine/metrics.ts'
import type {Cluster} from '../kafka/ports.ts'
import {isCapReason} from './ledger-judge.ts'
import type {LedgerContents} from './ledger/contents.ts'
import {readFileLedger} from './ledger/file-ledger.ts'
import {allPartitions} from './ledger/layout.ts'
import {LedgerReader} from './ledger/read-ledger.ts'
import type {LedgerReadOptions} from './ledger/read-ledger.ts'
import {readRunDocument} from './ledger/run-record.ts'
import type {RunDocument} from './ledger/run-record.ts'
import type {LedgerRun, LedgerTopic} from './ledger/types.ts'
import type {ReplayCounts} from './result.ts'
import {ZERO_COUNTS} from './result.ts'
import {readMetrics} from './run-metrics.ts'

/** A ledger that can be read: a topic with its cluster, or a file. */
export type LedgerPlace =
  | {readonly kind: 'topic'; readonly cluster: Cluster; readonly ledger: LedgerTopic}
  | {readonly kind: 'file'; readonly path: string}

/** A run, as `runs` lists it: JSON as it is. */
export interface RunSummary {
  readonly run: string
  /** `open`: it holds its partitions; it works, or was killed. */
  readonly state: 'open' | 'completed' | 'stopped' | 'taken-over'
  readonly by: string | null
  readonly reason: string | null
  /** Epoch ms; null when only the end of the run is left. */
  readonly startedAt: string | null
  /** Epoch ms of its end; null while it is open. */
  readonly endedAt: string | null
  /** Why it ended; null = completed or open. */
  readonly endReason: string | null
  /** From the entries; of an open run what is done so far. */
  readonly counts: ReplayCounts
  /** Of its processes that came to their end (KIP-298). */
  readonly metrics: MetricsSnapshot
}

/** A run with its plan. */
export interface FoundRun {
  readonly summary: RunSummary
  readonly document: RunDocument
  readonly targets: readonly {readonly topic: string; readonly partition: number; readonly count: number}[]
  /** Parked records, by why. */
  readonly parked: {readonly failed: number; readonly policy: number}
}

/** Runs of a ledger, newest first. @throws as the ledger's readers */
export async function listRunSummaries(
  place: LedgerPlace,
  clock: Clock,
  options: LedgerReadOptions & {readonly signal?: AbortSignal | undefined} = {},
): Promise<readonly RunSummary[]> {
  const contents = await readAll(place, clock, null, options)
  return contents.runs.map(run => summaryOf(run, contents)).toReversed()
}

/**
 * One run with its plan and what it did.
 * @throws RefusedError `E_NO_RUN`; KafkaError `E_LEDGER_RUN_BROKEN`; as the ledger's readers
 */
export async function findRun(
  place: LedgerPlace,
  run: string,
  clock: Clock,
  options: LedgerReadOptions & {readonly signal?: AbortSignal | undefined} = {},
): Promise<FoundRun> {
  const contents = await readAll(place, clock, run, options)
  const known = contents.run(run)
  const name = place.kind === 'topic' ? place.ledger.name : place.path
  if (known.head === null) {
    throw new RefusedError(`ledger ${name} does not know run ${run}`, {
      code: 'E_NO_RUN',
      hints: ['kdlq runs lists those it knows', 'a run of another ledger needs --ledger'],
      context: {run, ledger: name},
    })
  }
  const targets = new Map<string, {topic: string; partition: number; count: number}>()
  const parked = {failed: 0, policy: 0}
  for (const {state, target, reason} of contents.index.entriesOfRun(run)) {
    if (state === 'parked') parked[isCapReason(reason) ? 'policy' : 'failed']++
    if (state !== 'replayed' || target === null) continue
    const {topic, partition} = target
    const key = `${partition} ${topic}`
    targets.set(key, {topic, partition, count: (targets.get(key)?.count ?? 0) + 1})
  }
  return {
    summary: summaryOf(known, contents),
    document: readRunDocument(known.head, contents.pieces),
    parked,
    targets: [...targets.values()].toSorted((a, b) =>
      a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
    ),
  }
}

async function readAll(
  place: LedgerPlace,
  clock: Clock,
  documentOf: string | null,
  options: LedgerReadOptions & {readonly signal?: AbortSignal | undefined},
): Promise<LedgerContents> {
  if (place.kind === 'file') return (await readFileLedger(place.path, {documentOf})).contents
  const reader = new LedgerReader({cluster: place.cluster, clock}, place.ledger, options, {documentOf})
  await reader.catchUp(allPartitions(place.ledger), options)
  return reader.contents
}

function summaryOf({run, head, status}: LedgerRun, {index}: LedgerContents): RunSummary {
  return {
    run,
    state: status?.state ?? 'open',
    by: head?.by ?? null,
    reason: head?.reason ?? null,
    startedAt: head === null ? null : `${head.at}`,
    endedAt: status === null ? null : `${status.at}`,
    endReason: status?.reason ?? null,
    counts: status?.state === 'completed' || status?.state === 'stopped' ? countsOf(status.counts) : soFar(index, run),
    metrics: readMetrics(status?.metrics ?? {}),
  }
}

function countsOf(counts: Readonly<Record<string, number>>): ReplayCounts {
  return {...ZERO_COUNTS, ...counts}
}

/** What the entries say: the run did not come to say it itself. */
function soFar(index: LedgerContents['index'], run: string): ReplayCounts {
  const counts = {replayed: 0, parked: 0, held: 0, failed: 0, unknown: 0}
  for (const {state} of index.entriesOfRun(run)) {
    if (state === 'replayed' || state === 'parked' || state === 'held' || state === 'failed') counts[state]++
    else if (state === 'sending') counts.unknown++
  }
  return {...ZERO_COUNTS, ...counts, selected: Object.values(counts).reduce((sum, count) => sum + count, 0)}
}
