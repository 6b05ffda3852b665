/**
 * Wait for a promise, but not behind an abort. The promise goes on; whoever made it keeps owning it.
 * @throws the signal's reason, or the promise's own error
 */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const {promise: aborted, reject} = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort, {once: true})
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
