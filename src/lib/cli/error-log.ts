import {closeSync, openSync, writeSync} from 'node:fs'
import {stackTraceOf} from '../connect-engine/stack-trace.ts'
import type {LogEvent, LogSink} from '../connect-engine/reporter.ts'
import {IoError} from '../errors.ts'
import {sanitize, sanitizeBlock} from '../render/sanitize.ts'
import {errorCode} from './guards.ts'
import type {Output} from './output.ts'
import type {Progress} from './progress.ts'

/** Where the failures of a run are logged. */
export interface ErrorLog extends Disposable {
  readonly sink: LogSink
}

/** On stderr, over the line of the progress; what a record says cannot move the cursor of a terminal. */
export function stderrLog(stderr: Output, progress: Pick<Progress, 'clear'>, now: () => number): ErrorLog {
  return {
    sink(event) {
      // Both are in order without waiting, and stderr never fails a run.
      progress.clear().catch(() => undefined)
      const text = stderr.isTTY ? terminalText(event, now()) : plainText(event, now())
      stderr.write(text).catch(() => undefined)
    },
    [Symbol.dispose]: () => undefined,
  }
}

/**
 * Appended to a file, which only its owner can read. A file that can no longer be written is told once; the run goes on.
 * @throws IoError `E_ERRORS_LOG` when it cannot be opened
 */
export function fileLog(path: string, warn: (text: string) => void, now: () => number): ErrorLog {
  let file: number
  try {
    file = openSync(path, 'a', 0o600)
  } catch (cause) {
    throw new IoError(`the log of errors could not be opened: ${whyOf(cause)}`, {
      code: 'E_ERRORS_LOG',
      hints: ['name another file with --errors-log-file'],
      context: {path},
      cause,
    })
  }
  let broken = false
  return {
    sink(event) {
      if (broken) return
      try {
        writeAll(file, Buffer.from(plainText(event, now())))
      } catch (error) {
        broken = true
        warn(`errors are no longer logged to ${path}: ${whyOf(error)}; the run goes on`)
      }
    },
    [Symbol.dispose]: () => {
      closeSync(file)
    },
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done)
}

function plainText({logger, message, error}: LogEvent, now: number): string {
  return `${headOf(now)} ${message} (${logger})\n${error === null ? '' : stackTraceOf(error)}`
}

function terminalText({logger, message, error}: LogEvent, now: number): string {
  return `${headOf(now)} ${sanitize(message)} (${logger})\n${error === null ? '' : sanitizeBlock(stackTraceOf(error))}`
}

function headOf(now: number): string {
  return `${new Date(now).toISOString()} ERROR`
}

function whyOf(error: unknown): string {
  const code = errorCode(error)
  if (code === 'ENOSPC') return 'the disk is full'
  return code ?? (error instanceof Error ? error.message : String(error))
}
