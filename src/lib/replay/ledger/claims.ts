import type {Clock} from '../../clock.ts'
import {BugError, RefusedError} from '../../errors.ts'
import type {Cluster, ProducerSession, TransactionOptions, TransactionSession} from '../../kafka/ports.ts'
import {allPartitions, ledgerPartition, ledgerPartitions} from './layout.ts'
import {claimKey, transactionalIdOf} from './names.ts'
import {LedgerReader} from './read-ledger.ts'
import type {LedgerReadOptions} from './read-ledger.ts'
import {claimPlace} from './records.ts'
import type {LedgerRunStatus, LedgerTopic, LiveClaim, SourcePartition} from './types.ts'
import {commitLedger, LedgerScribe} from './writer.ts'
import type {LedgerAuthor} from './writer.ts'

/** What claiming needs: the run's own session, opened, and a reader of the same ledger. */
export interface ClaimDeps {
  readonly session: ProducerSession | TransactionSession
  readonly reader: LedgerReader
  readonly clock: Clock
}

/** Claims of other runs on these partitions, lowest offset first: what stands in the way. */
export function foreignClaims(
  claims: readonly LiveClaim[],
  partitions: readonly SourcePartition[],
  run: string,
): readonly LiveClaim[] {
  const wanted = new Set(partitions.map(source => claimKey(source, '')))
  return claims.filter(claim => claim.run !== run && wanted.has(claimKey(claim.source, '')))
}

/**
 * Who holds a partition: of its live claims the one with the lowest offset.
 * @returns null when nobody claims it
 */
export function holderOf(claims: readonly LiveClaim[], partition: SourcePartition): LiveClaim | null {
  const wanted = claimKey(partition, '')
  let holder: LiveClaim | null = null
  for (const claim of claims) {
    if (claimKey(claim.source, '') !== wanted) continue
    if (holder === null || claim.offset < holder.offset) holder = claim
  }
  return holder
}

/**
 * Claim partitions for a run. Ledger partitions are taken one after the other, ascending: of runs that want the same ones at
 * the same time the one that is first at the first common ledger partition goes on, so never do both lose.
 *
 * Afterwards the reader stands at the high watermark behind the claims: what another run did before it ended is in its
 * `contents`, and has to be left out although the plan does not know it. A claim that this run has already (it is resumed)
 * is kept, never written again: its place in the ledger is its rank.
 * @throws RefusedError `E_CLAIMED` after withdrawing what it had claimed; as `LedgerReader.catchUp` and `commitLedger`
 */
export async function claimPartitions(
  deps: ClaimDeps,
  author: LedgerAuthor,
  partitions: readonly SourcePartition[],
  {signal}: {readonly signal?: AbortSignal | undefined} = {},
): Promise<void> {
  const {session, reader, clock} = deps
  const {ledger, contents} = reader
  const scribe = new LedgerScribe(clock, author)
  const claimed: SourcePartition[] = []
  const order = ledgerPartitions(
    ledger,
    partitions.map(({topic}) => topic),
  )
  await reader.catchUp(order, {signal})
  const own = new Set(contents.claims.filter(({run}) => run === author.run).map(({source}) => claimKey(source, '')))
  try {
    for (const ledgerAt of order) {
      const here = partitions.filter(({topic}) => ledgerPartition(ledger, topic) === ledgerAt)
      const fresh = here.filter(source => !own.has(claimKey(source, '')))
      refuseIfHeld(contents.claims, here, author.run, {ledger, clock})
      if (fresh.length === 0) continue
      claimed.push(...fresh)
      await commitLedger(session, ledger, scribe.claims(fresh), {clock, signal})
      await reader.catchUp([ledgerAt], {signal})
      refuseIfHeld(contents.claims, here, author.run, {ledger, clock})
    }
    await reader.catchUp(order, {signal})
  } catch (error) {
    await withdraw(deps, scribe, claimed)
    throw error
  }
}

/**
 * End a run in the ledger: its claims, and how it stands, in one transaction.
 * @param partitions those that the run claimed
 * @throws as `commitLedger`
 */
export async function endRun(
  {
    session,
    ledger,
    clock,
  }: {readonly session: ClaimDeps['session']; readonly ledger: LedgerTopic; readonly clock: Clock},
  author: LedgerAuthor,
  end: {
    readonly partitions: readonly SourcePartition[]
    readonly status: Pick<LedgerRunStatus, 'state' | 'reason' | 'counts' | 'metrics'>
  },
  {signal}: {readonly signal?: AbortSignal | undefined} = {},
): Promise<void> {
  const scribe = new LedgerScribe(clock, author)
  await commitLedger(session, ledger, [scribe.status(end.status), ...scribe.claimEnds(end.partitions)], {clock, signal})
}

/** What taking over needs. */
export interface TakeOverDeps {
  /** The cluster that the other run writes its transactions to: the ledger's. */
  readonly cluster: Pick<Cluster, 'writer' | 'reader' | 'admin'>
  readonly clock: Clock
  readonly transaction: Omit<TransactionOptions, 'transactionalId'>
}

/**
 * Take the place of another run: fence it for good with its own transactional id, then end its claims and note who did it.
 * A paused process of that run, continued, gets E_FENCED at its next write.
 * @param by who takes over, and for which run
 * @returns claims that were ended; empty when it had none
 * @throws as `openTransactional`, `LedgerReader.catchUp` and `commitLedger`
 */
export async function takeOver(
  {cluster, clock, transaction}: TakeOverDeps,
  ledger: LedgerTopic,
  other: string,
  by: {readonly run: string; readonly by: string | null},
  options: LedgerReadOptions & {readonly signal?: AbortSignal | undefined} = {},
): Promise<readonly LiveClaim[]> {
  const {signal} = options
  await using session = await cluster.writer.openTransactional(
    {...transaction, transactionalId: transactionalIdOf(other)},
    {signal},
  )
  // Only now: what the other run committed before it was fenced is behind the high watermark.
  const reader = new LedgerReader({cluster, clock}, ledger, options, {entries: false})
  await reader.catchUp(allPartitions(ledger), {signal})
  const claims = reader.contents.claims.filter(({run}) => run === other)
  const scribe = new LedgerScribe(clock, {run: other, by: by.by})
  const {status} = reader.contents.run(other)
  const records = scribe.claimEnds(claims.map(({source}) => source))
  const note = scribe.status({state: 'taken-over', reason: `taken over by ${by.run}`, counts: status?.counts ?? {}})
  await commitLedger(session, ledger, status?.state === 'completed' ? records : [note, ...records], {clock, signal})
  return claims
}

/** The refusal for a partition that another run holds. */
export function claimedError(claims: readonly LiveClaim[], ledger: LedgerTopic, nowMs: number): RefusedError {
  const [first] = claims
  if (first === undefined) throw new BugError('nobody claims anything')
  const ageMs = Math.max(0, nowMs - Number(first.at))
  const places = claims.map(claimPlace)
  const who = first.by === null ? '' : ` of ${first.by}`
  return new RefusedError(`${places[0] ?? ''} is claimed by run ${first.run}${who}, ${ageText(ageMs)} ago`, {
    code: 'E_CLAIMED',
    hints: [
      `wait until it ends, or go on with it: kdlq resume ${first.run}`,
      `when its process is gone for good, or has to stop: --take-over ${first.run} (a claim outlives a crash)`,
    ],
    context: {
      run: first.run,
      by: first.by,
      ageMs,
      claimedAt: `${first.at}`,
      partitions: places.slice(0, 20),
      ledger: ledger.name,
    },
  })
}

/** @throws RefusedError `E_CLAIMED` when one of the partitions has a holder that is not this run */
function refuseIfHeld(
  claims: readonly LiveClaim[],
  partitions: readonly SourcePartition[],
  run: string,
  {ledger, clock}: {readonly ledger: LedgerTopic; readonly clock: Clock},
): void {
  const holders = partitions.flatMap(source => {
    const holder = holderOf(claims, source)
    return holder === null || holder.run === run ? [] : [holder]
  })
  if (holders.length > 0) throw claimedError(holders, ledger, clock.now())
}

/** The reason for withdrawing is the one to tell; when the session cannot write any more, the claims stay until taken over. */
async function withdraw(
  {session, reader, clock}: ClaimDeps,
  scribe: LedgerScribe,
  claimed: readonly SourcePartition[],
): Promise<void> {
  try {
    await commitLedger(session, reader.ledger, scribe.claimEnds(claimed), {clock})
  } catch {
    // Fenced, unsettled or unreachable: the next run names these claims and how to take them over.
  }
}

function ageText(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ] as const
  for (const [unit, size] of units) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`
  return `${Math.floor(ms / 1000)} s`
}
