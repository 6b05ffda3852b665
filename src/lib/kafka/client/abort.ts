/**
 * Wait for something that goes on without us.
 * @throws the signal's reason, soon after it aborts
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  const {promise, reject} = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, {once: true})
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** A signal that aborts with the first of some; `release` leaves no listener on them, as they may live much longer. */
export class EitherSignal {
  readonly #controller = new AbortController()
  readonly #sources: readonly AbortSignal[]
  readonly #abort = (): void => {
    const first = this.#sources.find(({aborted}) => aborted)
    this.#controller.abort(first?.reason)
  }

  constructor(...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter(source => source !== undefined)
    for (const source of this.#sources) source.addEventListener('abort', this.#abort, {once: true})
    if (this.#sources.some(({aborted}) => aborted)) this.#abort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  release(): void {
    for (const source of this.#sources) source.removeEventListener('abort', this.#abort)
  }
}
