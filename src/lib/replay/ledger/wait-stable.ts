import type {Clock} from '../../clock.ts'
import {UnreachableError, isKdlqError} from '../../errors.ts'
import type {ActiveProducer, Cluster, TransactionDescription} from '../../kafka/ports.ts'

/** Added to a transaction's own timeout: the coordinator looks every 10 s, then has to write the markers, ms. */
const GRACE_MS = 20_000
/** Timeout that is assumed when nobody tells it: the Java client's default, ms. */
const ASSUMED_TIMEOUT_MS = 60_000
const FIRST_POLL_MS = 20
const LAST_POLL_MS = 500

/** How long to wait for other people's transactions. */
export interface StableWait {
  /** Ms; without it: the open transaction's own timeout plus 20 s. */
  readonly waitMs?: number | undefined
  /** Told of each one that is waited for, once; the wait goes on when the promise resolves. */
  readonly onWait?: ((blocker: Blocker) => Promise<void> | void) | undefined
}

/** Who holds a ledger partition back. */
export interface Blocker {
  readonly ledger: string
  readonly partition: number
  /** Null when the brokers do not tell. */
  readonly producerId: bigint | null
  readonly transactionalId: string | null
  /** Longest that the wait will take, ms. */
  readonly waitMs: number
}

interface WaitDeps {
  readonly cluster: Pick<Cluster, 'reader' | 'admin'>
  readonly clock: Clock
}

/**
 * Wait until every partition's last stable offset has reached the given one, so that nothing below it is undecided.
 * @throws UnreachableError `E_LEDGER_BUSY` that names the producer
 */
export async function waitForStable(
  deps: WaitDeps,
  topic: string,
  ends: ReadonlyMap<number, bigint>,
  wait: StableWait,
  {signal}: {readonly signal?: AbortSignal | undefined},
): Promise<void> {
  let since = deps.clock.monotonic()
  let pause = FIRST_POLL_MS
  let known: Blocker | null = null
  for (;;) {
    const behind = await firstBehind(deps, topic, ends, signal)
    if (behind === null) return
    const blocker = await findBlocker(deps, topic, behind, wait.waitMs, signal)
    if (known === null || isAnother(blocker, known)) {
      // One ended, and behind it stood another. Below fixed ends they are finitely many; a given limit is for all of them.
      if (known !== null && wait.waitMs === undefined) since = deps.clock.monotonic()
      known = blocker
      await wait.onWait?.(blocker)
    }
    const left = since + known.waitMs - deps.clock.monotonic()
    if (left <= 0) throw busy(blocker)
    await deps.clock.sleep(Math.min(pause, left), {signal})
    pause = Math.min(pause * 2, LAST_POLL_MS)
  }
}

/** Nobody is told of an end that falls between two questions: who is not named is the one that was known. */
function isAnother(blocker: Blocker, known: Blocker): boolean {
  return blocker.producerId !== null && blocker.producerId !== known.producerId
}

/** A partition whose last stable offset is too low; null = none. */
async function firstBehind(
  {cluster}: WaitDeps,
  topic: string,
  ends: ReadonlyMap<number, bigint>,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  const answers = await cluster.reader.offsets(
    [...ends.keys()].map(partition => ({topic, partition, at: 'last-stable' as const})),
    {signal},
  )
  for (const {partition, offset, error} of answers) {
    if (error !== null) throw error
    if ((offset ?? 0n) < (ends.get(partition) ?? 0n)) return partition
  }
  return null
}

async function findBlocker(
  {cluster}: WaitDeps,
  topic: string,
  partition: number,
  waitMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Blocker> {
  const producer = await told(oldestOpen(cluster, topic, partition, signal), signal)
  const transactions =
    producer === null ? null : await told(cluster.admin.transactionsOf(producer.producerId, {signal}), signal)
  const transaction: TransactionDescription | null = transactions?.[0] ?? null
  return {
    ledger: topic,
    partition,
    producerId: producer?.producerId ?? null,
    transactionalId: transaction?.transactionalId ?? null,
    waitMs: waitMs ?? (transaction?.timeoutMs ?? ASSUMED_TIMEOUT_MS) + GRACE_MS,
  }
}

/** The producer whose open transaction begins first: it is the one that holds the last stable offset. */
async function oldestOpen(
  cluster: WaitDeps['cluster'],
  topic: string,
  partition: number,
  signal: AbortSignal | undefined,
): Promise<ActiveProducer | null> {
  let oldest: ActiveProducer | null = null
  for (const producer of await cluster.admin.activeProducers(topic, partition, {signal})) {
    const start = producer.transactionStartOffset
    if (start !== null && (oldest === null || start < (oldest.transactionStartOffset ?? 0n))) oldest = producer
  }
  return oldest
}

/** Who it is is told if it can be told: no right to ask, or an old broker, must not end the wait. */
async function told<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    signal?.throwIfAborted()
    if (!isKdlqError(error)) throw error
    return null
  }
}

function busy({ledger, partition, producerId, transactionalId, waitMs}: Blocker): UnreachableError {
  const id = producerId === null ? 'a producer that the broker does not name' : `producer ${producerId}`
  const name = transactionalId === null ? id : `${id} (${transactionalId})`
  return new UnreachableError(`ledger ${ledger} is held by an open transaction of ${name}`, {
    code: 'E_LEDGER_BUSY',
    hints: [
      'end that transaction, or wait until its timeout is over, then try again: nothing was sent',
      `kafka-transactions.sh find-hanging --topic ${ledger} shows it`,
    ],
    context: {
      ledger,
      partition,
      producerId: producerId?.toString() ?? null,
      transactionalId,
      waitedMs: waitMs,
    },
  })
}
