import {toError} from './errors.ts'
import type {LogSink} from './reporter.ts'
import {stackTraceOf} from './stack-trace.ts'

/** States of a task, by the words of Connect's REST interface. */
export type TaskState = 'UNASSIGNED' | 'RUNNING' | 'PAUSED' | 'FAILED'

/** How a task stands, as Connect's REST interface says it. */
export interface TaskStatus {
  /** UNASSIGNED before the start and after a stop. */
  readonly state: TaskState
  /** Why it failed; null unless it did. */
  readonly error: Error | null
  /** The error with all its causes, as Connect's REST interface shows it; null unless it failed. */
  readonly trace: string | null
}

/** What a kind of task does at each point of its life. */
export interface TaskSteps {
  start(): Promise<void>
  execute(): Promise<void>
  /** Called whatever happened before. */
  close(): Promise<void>
}

/**
 * Start, loop and end of a task, and what may happen from outside in between.
 * @see Connect's WorkerTask
 */
export class TaskLifecycle {
  readonly #name: string
  readonly #log: LogSink
  #state: TaskState = 'UNASSIGNED'
  #error: Error | null = null
  #isStopping = false
  #isCancelled = false
  #isPaused = false
  #isRunning = false
  /** What waits now; null = nobody. */
  #wakeup: AbortController | null = null
  /** A wake-up that found nobody ends the next wait at once. */
  #isWoken = false

  constructor({name, log}: {readonly name: string; readonly log: LogSink}) {
    this.#name = name
    this.#log = log
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  get status(): TaskStatus {
    const trace = this.#error === null ? null : stackTraceOf(this.#error)
    return {state: this.#state, error: this.#error, trace}
  }

  stop(): void {
    this.#isStopping = true
    this.#wake()
  }

  cancel(): void {
    this.#isCancelled = true
    this.stop()
  }

  pause(): void {
    this.#isPaused = true
    if (this.#isRunning) this.#state = 'PAUSED'
    this.#wake()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#isRunning) this.#state = 'RUNNING'
    this.#wake()
  }

  /** Resolves once the task is not paused, or is to stop. */
  async whileNotPaused(): Promise<void> {
    while (this.#isPaused && !this.#isStopping) {
      await this.wakeable(untilAborted)
    }
  }

  /**
   * Something that is ended early by a stop or a change of state, also by one just before it.
   * @returns null when it was, and it rejected for that
   */
  async wakeable<V>(act: (signal: AbortSignal) => Promise<V>): Promise<V | null> {
    const wakeup = new AbortController()
    this.#wakeup = wakeup
    if (this.#isWoken) wakeup.abort()
    this.#isWoken = false
    try {
      return await act(wakeup.signal)
    } catch (error) {
      if (!wakeup.signal.aborted) throw error
      return null
    } finally {
      this.#wakeup = null
    }
  }

  /** An error of a task that was asked to stop is logged and is no failure. */
  async run(steps: TaskSteps): Promise<TaskStatus> {
    try {
      // A task that is created paused starts when it is resumed.
      if (this.#isPaused) this.#state = 'PAUSED'
      await this.whileNotPaused()
      if (!this.#isStopping) await this.#startAndExecute(steps)
    } catch (error) {
      this.log('Task threw an uncaught and unrecoverable exception', error)
      if (!this.#isStopping) this.#error = toError(error)
    } finally {
      this.#isRunning = false
      await steps.close()
    }
    this.#isStopping = true
    this.#state = this.#error === null ? 'UNASSIGNED' : 'FAILED'
    return this.status
  }

  log(message: string, error: unknown): void {
    const logger = this.#name.slice(0, this.#name.indexOf('{'))
    this.#log({logger, message: `${this.#name} ${message}`, error: error === null ? null : toError(error)})
  }

  /** Do a step of the end (or one that may fail): its error is logged and does not stop what follows. */
  async quietly(what: string, act: () => void | Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.log(what, error)
    }
  }

  async #startAndExecute(steps: TaskSteps): Promise<void> {
    await steps.start()
    this.#isRunning = true
    this.#state = this.#isPaused ? 'PAUSED' : 'RUNNING'
    await steps.execute()
  }

  #wake(): void {
    if (this.#wakeup === null) this.#isWoken = true
    else this.#wakeup.abort()
  }
}

/** Lets timers and sockets have a turn: a client that always answers at once must not keep them from it. */
export async function nextTurn(): Promise<void> {
  await new Promise<void>(resolve => {
    setImmediate(resolve)
  })
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    signal.addEventListener('abort', () => resolve(), {once: true})
  })
}
