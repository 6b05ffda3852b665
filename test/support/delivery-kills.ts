import {setTimeout as sleep} from 'node:timers/promises'
import type {Ended, KdlqProcess} from './delivery-process.ts'
import {runIdIn, startKdlq} from './delivery-process.ts'
import {CommittedRecords, hasOpenTransaction} from './delivery-world.ts'
import type {DeliveryWorld} from './delivery-world.ts'

/** Same seed, same numbers: 0 to below 1. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Random numbers of one test; the seed is printed, and `KDLQ_TEST_SEED` repeats it. */
export function testRandom(name: string): () => number {
  const given = process.env['KDLQ_TEST_SEED']
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given)
  tell(`${name}: KDLQ_TEST_SEED=${seed}`)
  return seededRandom(seed)
}

/** Print a measurement. */
export function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Print what was seen at each kill, and in all. */
export function tellKills(name: string, {kills, aborted, waits}: KilledRun): void {
  for (const [index, {plan, committed, open}] of kills.entries()) {
    tell(`${name}: kill ${index + 1} (${plan.when}): ${committed} committed${open ? ', transaction open' : ''}`)
  }
  const open = kills.filter(kill => kill.open).length
  tell(`${name}: ${open} of ${kills.length} within a transaction, ${aborted} records aborted`)
  for (const wait of new Set(waits)) tell(`${name}: ${wait}`)
}

/**
 * When a process is killed, once so many records are committed: some ms later, within a chunk (its transaction is seen open,
 * or without transactions: the target grew just now), or (a resumed one) while it is taking the run up.
 */
export interface KillPlan {
  readonly committed: number
  readonly when: 'later' | 'open' | 'taking-up'
  readonly ms: number
}

/** A kill that happened. */
export interface Kill {
  readonly plan: KillPlan
  /** Records that read_committed readers saw in the target right after it. */
  readonly committed: number
  /** A transaction was open right after it (DescribeProducers). */
  readonly open: boolean
}

/**
 * Random kills at rising counts, one in each part of the run's first 85 percent: what is left behind the last one takes
 * longer than a look at it. The first is never `taking-up`: there is no run to take up yet.
 */
export function planKills(kills: number, records: number, random: () => number): KillPlan[] {
  const part = (records * 0.85) / kills
  return Array.from({length: kills}, (_none, index) => {
    const committed = Math.floor(part * (index + random()))
    const dice = random()
    const when = dice < 0.5 ? 'open' : dice < 0.85 || index === 0 ? 'later' : 'taking-up'
    return {committed, when, ms: Math.floor(random() * (when === 'later' ? 120 : 40))}
  })
}

/** How a run is killed and resumed. */
export interface KillOptions {
  readonly kills: readonly KillPlan[]
  /** Of the first process, SOURCE included. */
  readonly replay: readonly string[]
  /** False: at-least-once. */
  readonly transactional?: boolean
  readonly machine?: () => Readonly<Record<string, string>>
  /** Between kill `number` (from 1) and the process that goes on. */
  readonly between?: (run: string, number: number) => Promise<void>
  /** With the process that goes on after kill `number`. */
  readonly resumed?: (kdlq: KdlqProcess, number: number) => Promise<void>
}

/** A run that was killed again and again, and its last process. */
export interface KilledRun {
  readonly run: string
  readonly kills: readonly Kill[]
  readonly last: Ended
  /** Records of aborted transactions in the target. */
  readonly aborted: number
  /** What processes said about waiting for somebody's transaction. */
  readonly waits: readonly string[]
}

/**
 * kill -9, then `resume`, as planned; the last process is left to end.
 * @throws Error when a process ends before its kill
 */
export async function killRepeatedly(world: DeliveryWorld, options: KillOptions): Promise<KilledRun> {
  const {bootstrapServers} = world
  const seen = new CommittedRecords(world)
  const kills: Kill[] = []
  const waits: string[] = []
  const resume = (run: string): string[] => ['resume', run, '--json', ...world.ledgerFlags]
  let kdlq = startKdlq(bootstrapServers, [...options.replay, '--yes', '--json'], options.machine?.())
  let run = ''
  for (const plan of options.kills) {
    try {
      await waitForMoment(kdlq, plan, seen, options.transactional ?? true)
    } finally {
      kdlq.signal('SIGKILL')
    }
    const [open, {stderr}] = await Promise.all([hasOpenTransaction(world), kdlq.ended])
    run = runIdIn(`${run} ${stderr}`)
    waits.push(...waitsIn(stderr))
    kills.push({plan, committed: await seen.look(), open})
    await options.between?.(run, kills.length)
    kdlq = startKdlq(bootstrapServers, resume(run), options.machine?.())
    await options.resumed?.(kdlq, kills.length)
  }
  const last = await kdlq.ended
  waits.push(...waitsIn(last.stderr))
  await seen.look()
  return {run, kills, last, aborted: seen.aborted, waits}
}

function waitsIn(stderr: string): string[] {
  return stderr.split('\n').filter(line => line.startsWith('waiting up to'))
}

async function waitForMoment(
  kdlq: KdlqProcess,
  plan: KillPlan,
  seen: CommittedRecords,
  transactional: boolean,
): Promise<void> {
  if (plan.when === 'taking-up') {
    await poll(kdlq, async () => kdlq.stderr.includes('goes on'))
    await sleep(plan.ms)
    return
  }
  const before = await seen.look()
  // A process that is behind its moment already gets as far as its first commit.
  await poll(kdlq, async () => (await seen.look()) >= Math.max(plan.committed, before + 1))
  const end = await seen.end()
  if (plan.when === 'later') await sleep(plan.ms)
  else await poll(kdlq, async () => (transactional ? seen.isOpen() : (await seen.end()) > end))
}

async function poll(kdlq: KdlqProcess, look: () => Promise<boolean>): Promise<void> {
  while (!(await look())) {
    if (!kdlq.isRunning) throw new Error(`ended before it could be killed: ${JSON.stringify(await kdlq.ended)}`)
    await sleep(2)
  }
}
