import type {Clock} from '../../clock.ts'

export interface Limits {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Asked when the time is over: monotonic ms to which it was extended meanwhile. */
  readonly extendedTo?: (() => number) | undefined
  /** Makes the error of a work that took too long. */
  readonly late: () => Error
  readonly signal?: AbortSignal | undefined
}

/**
 * Wait for `work`, but no longer than `timeoutMs` and not past an abort. The work itself goes on; its late outcome is ignored.
 * @throws what work throws, the error of `late`, or the signal's reason
 */
export async function within<T>(work: Promise<T>, limits: Limits): Promise<T> {
  const {signal} = limits
  const done = new AbortController()
  const limit = runOut(limits, done.signal)
  const {promise: aborted, reject} = Promise.withResolvers<never>()
  const abort = (): void => reject(signal?.reason)
  if (signal?.aborted === true) abort()
  signal?.addEventListener('abort', abort, {once: true})
  try {
    return await Promise.race([aborted, work, limit])
  } finally {
    signal?.removeEventListener('abort', abort)
    done.abort()
    for (const rest of [work, limit, aborted]) rest.catch(ignore)
  }
}

/** @throws the error of `late` */
async function runOut({clock, timeoutMs, extendedTo, late}: Limits, signal: AbortSignal): Promise<never> {
  const end = clock.monotonic() + timeoutMs
  for (let left = timeoutMs; left > 0; left = Math.max(end, extendedTo?.() ?? 0) - clock.monotonic()) {
    await clock.sleep(left, {signal})
  }
  throw late()
}

function ignore(): void {
  // The race is over: whoever waited has an outcome already.
}
