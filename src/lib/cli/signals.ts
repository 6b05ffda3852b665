import type {EventEmitter} from 'node:events'
import {EXIT, InterruptedError} from '../errors.ts'

/** How long a run may take to settle after the first signal, ms. */
export const SETTLE_MS = 2000

export interface SignalDeps {
  /** Emits SIGINT and SIGTERM: `process`, or an emitter in tests. */
  readonly source: Pick<EventEmitter, 'on' | 'off'>
  /** Ends the process at once with this code. */
  readonly exit: (code: number) => void
  /** Said on stderr, one line. */
  readonly say: (line: string) => void
  /** Starts a timer that does not hold the process; returns what stops it. */
  readonly after?: (ms: number, run: () => void) => () => void
}

export interface Signals extends Disposable {
  /** Aborts with an InterruptedError at the first signal, or with whatever `abort` was given. */
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/**
 * The first SIGINT or SIGTERM aborts the signal and gives the run two seconds to settle; the second one, or the end of
 * those seconds, ends the process.
 */
export function watchSignals({source, exit, say, after = unheldTimer}: SignalDeps): Signals {
  const controller = new AbortController()
  let interrupted = false
  let stopTimer: (() => void) | null = null
  const handle = (name: 'SIGINT' | 'SIGTERM') => (): void => {
    const code = name === 'SIGINT' ? EXIT.SIGINT : EXIT.SIGTERM
    if (interrupted) {
      exit(code)
      return
    }
    interrupted = true
    controller.abort(new InterruptedError(name))
    stopTimer = after(SETTLE_MS, () => {
      say(`not settled within ${SETTLE_MS / 1000} s, leaving`)
      exit(code)
    })
  }
  const onInt = handle('SIGINT')
  const onTerm = handle('SIGTERM')
  source.on('SIGINT', onInt)
  source.on('SIGTERM', onTerm)
  return {
    signal: controller.signal,
    abort: reason => controller.abort(reason),
    [Symbol.dispose]() {
      source.off('SIGINT', onInt)
      source.off('SIGTERM', onTerm)
      stopTimer?.()
    },
  }
}

function unheldTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}
