import type {Clock} from '../../clock.ts'

export interface Limits {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Makes the error of a work that took too long. */
  readonly late: () => Error
  readonly signal?: AbortSignal | undefined
}

/**
 * Wait for `work`, but no longer than `timeoutMs` and not past an abort. The work itself goes on; its late outcome is ignored.
 * @throws what work throws, the error of `late`, or the signal's reason
 */
export async function within<T>(work: Promise<T>, {clock, timeoutMs, late, signal}: Limits): Promise<T> {
  const done = new AbortController()
  const limit = clock.sleep(timeoutMs, {signal: done.signal}).then(() => {
    throw late()
  })
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

function ignore(): void {
  // The race is over: whoever waited has an outcome already.
}
