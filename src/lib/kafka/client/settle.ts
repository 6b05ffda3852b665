import type {Clock} from '../../clock.ts'
import type {KdlqError} from '../../errors.ts'
import type {CallOptions} from '../ports.ts'
import {backoffMs, failureOf} from './retry.ts'

const PATIENCE_MS = 15_000

/**
 * Repeat what fails with an error that passes.
 * @param attempt returns null when it is done, else why not
 * @throws the last error when patience (15 s) ends, others at once; the signal's reason
 */
export async function untilSettled(
  clock: Clock,
  {signal}: CallOptions,
  attempt: () => Promise<KdlqError | null>,
): Promise<void> {
  const deadline = clock.monotonic() + PATIENCE_MS
  for (let failures = 1; ; failures++) {
    const error = await attempt().catch((thrown: unknown) => {
      signal?.throwIfAborted()
      return failureOf(thrown)
    })
    if (error === null) return
    const wait = backoffMs(failures)
    if (!error.retriable || clock.monotonic() + wait > deadline) throw error
    await clock.sleep(wait, {signal})
  }
}
