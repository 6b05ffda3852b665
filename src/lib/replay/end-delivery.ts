import type {Clock} from '../clock.ts'
import {isKdlqError} from '../errors.ts'
import type {Delivery} from './delivery.ts'
import type {ReplayOutcome} from './result.ts'
import {readMetrics} from './run-metrics.ts'

/** How long the end of a stopped run may take, ms; with the time for settling it stays below two seconds. */
const END_MS = 400

/** How a run came to its end. */
export interface RunOutcome extends ReplayOutcome {
  /** False: the target did not answer in time. */
  readonly settled: boolean
}

/** True when somebody else has the run now: then this process writes nothing more. */
export function isFenced(error: unknown): boolean {
  return isKdlqError(error) && error.code === 'E_FENCED'
}

/**
 * Write the status of a run and the end of its claims into the ledger, then close; bounded once the run was told to stop. What
 * is not settled stays open in the ledger: resume decides.
 * @param outer told the run to stop
 * @returns what went wrong; null = nothing
 */
export async function endDelivery(
  clock: Clock,
  delivery: Delivery,
  {result, error, settled}: RunOutcome,
  outer: AbortSignal,
): Promise<unknown> {
  const {stopped, counts} = result
  const metrics = readMetrics(result.metrics)
  const timer = new AbortController()
  const giveUp = new AbortController()
  const end = async (): Promise<void> => {
    if (isFenced(error) || !settled) return
    const reason = stopped === null ? null : isKdlqError(error) ? error.message : stopped.reason
    const state = stopped === null ? 'completed' : 'stopped'
    await delivery.end({state, reason, counts: {...counts}, metrics}, {signal: giveUp.signal})
  }
  const ending = end().then(
    () => null,
    (reason: unknown) => reason,
  )
  const bound = outer.aborted ? boundOf(clock, timer.signal, giveUp) : null
  const failure = await (bound === null ? ending : Promise.race([ending, bound]))
  timer.abort()
  const closed = delivery[Symbol.asyncDispose]()
  // Closing must not outlast the deadline that a silent target already used up.
  if (settled && !giveUp.signal.aborted) await closed
  else Promise.resolve(closed).catch(() => undefined)
  return failure
}

async function boundOf(clock: Clock, signal: AbortSignal, giveUp: AbortController): Promise<null> {
  try {
    await clock.sleep(END_MS, {signal})
    giveUp.abort()
  } catch {
    // It ended in time.
  }
  return null
}
