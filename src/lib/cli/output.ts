import type {Writable} from 'node:stream'
import {IoError} from '../errors.ts'
import {errorCode} from './guards.ts'

/** Thrown by a write to a stream whose reader has gone (`| head`); ends a reading command with exit 0. */
export class OutputClosedError extends Error {
  constructor() {
    super('the reader of the output has gone')
    this.name = 'OutputClosedError'
  }
}

/** Thrown by a write that the system refuses, such as one to a file on a full disk. */
export class OutputFailedError extends IoError {
  constructor(cause: Error) {
    const code = errorCode(cause) ?? cause.message
    const why = code === 'ENOSPC' ? 'the disk is full' : code
    super(`the output could not be written (${why})`, {code: 'E_OUTPUT', context: {}, cause})
  }
}

/** What a command writes to; `write` waits when the other side is slow. */
export interface Output {
  readonly isTTY: boolean
  /** Columns of the terminal; null without one. */
  readonly width: number | null
  /** @throws OutputClosedError when the reader has gone, OutputFailedError; not when the stream is only talk */
  write(text: string | Uint8Array): Promise<void>
  /** Everything written so far has left the process. */
  flush(): Promise<void>
  /** Called once when the reader goes away. */
  onClosed(listener: () => void): void
  /** From now on writes to a closed stream are dropped: the work is worth more than its output. */
  ignoreClosed(): void
}

const BUFFER_LIMIT = 32 * 1024
const IDLE_MS = 50

function isClosedPipe(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'ERR_STREAM_WRITE_AFTER_END'
}

interface TerminalFacts {
  readonly isTTY?: boolean
  readonly columns?: number
}

/**
 * Output over a Node stream, with back-pressure. Small writes are joined up to 32 KiB or 50 ms, so that a fast scan is
 * not a system call a record and a slow one still shows each record at once.
 */
export class StreamOutput implements Output {
  readonly #stream: Writable & TerminalFacts
  #pending: string[] = []
  #pendingLength = 0
  #timer: NodeJS.Timeout | null = null
  #lastWriteAt = -Infinity
  #tail: Promise<void> = Promise.resolve()
  readonly #talk: boolean
  readonly #listener = (error: Error): void => this.#onError(error)
  #closed = false
  #failure: Error | null = null
  #dropWhenClosed = false
  readonly #listeners: (() => void)[] = []

  /** @param options.talk nothing depends on this stream: what it does not take is dropped */
  constructor(stream: Writable & TerminalFacts, {talk = false}: {readonly talk?: boolean} = {}) {
    this.#stream = stream
    this.#talk = talk
    this.#dropWhenClosed = talk
    stream.on('error', this.#listener)
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true
  }

  get width(): number | null {
    if (!this.isTTY) return null
    const {columns} = this.#stream
    return columns === undefined || columns < 1 ? 80 : Math.max(columns, 40)
  }

  async write(text: string | Uint8Array): Promise<void> {
    this.#check()
    if (this.#closed) return
    if (typeof text !== 'string') {
      this.#send()
      this.#append(text)
      return this.#tail
    }
    this.#pending.push(text)
    this.#pendingLength += text.length
    const idle = performance.now() - this.#lastWriteAt > IDLE_MS
    if (idle || this.#pendingLength >= BUFFER_LIMIT) {
      this.#send()
      return this.#tail
    }
    this.#timer ??= setTimeout(() => this.#send(), IDLE_MS)
  }

  async flush(): Promise<void> {
    this.#send()
    await this.#tail
  }

  onClosed(listener: () => void): void {
    this.#listeners.push(listener)
  }

  ignoreClosed(): void {
    this.#dropWhenClosed = true
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure
    if (this.#closed && !this.#dropWhenClosed) throw new OutputClosedError()
  }

  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#pending.length === 0) return
    const text = this.#pending.join('')
    this.#pending = []
    this.#pendingLength = 0
    this.#append(text)
  }

  #append(chunk: string | Uint8Array): void {
    this.#lastWriteAt = performance.now()
    const sent = this.#tail.then(async () => this.#deliver(chunk))
    this.#tail = sent
    // The caller of write or flush awaits the same promise; a timer's send has no caller.
    sent.catch(() => undefined)
  }

  async #deliver(chunk: string | Uint8Array): Promise<void> {
    this.#check()
    if (this.#closed) return
    this.#dropOtherListeners()
    const {promise, resolve} = Promise.withResolvers<void>()
    try {
      this.#stream.write(chunk, error => {
        if (error !== null && error !== undefined) this.#onError(error)
        resolve()
      })
    } catch (error) {
      // A file as stdout is written to synchronously and throws.
      this.#onError(error instanceof Error ? error : new Error(String(error)))
      resolve()
    }
    await promise
    this.#check()
  }

  /** oclif listens on stdout too, and throws from there what the run already tells. */
  #dropOtherListeners(): void {
    if (this.#stream.listenerCount('error') < 2) return
    for (const listener of this.#stream.listeners('error')) {
      if (listener !== this.#listener) this.#stream.off('error', listener)
    }
  }

  #onError(error: Error): void {
    if (this.#closed) return
    this.#closed = true
    if (!isClosedPipe(error) && !this.#talk) this.#failure = new OutputFailedError(error)
    // A failure is told by the next write; the listeners would end the run as if it had succeeded.
    else if (!this.#dropWhenClosed) for (const listener of this.#listeners) listener()
  }
}
