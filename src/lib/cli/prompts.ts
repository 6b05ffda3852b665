import {InterruptedError, RefusedError} from '../errors.ts'
import type {Io} from './io.ts'

export interface AskOptions {
  readonly signal: AbortSignal
  /** What stands instead of the question when nobody can answer. */
  readonly insteadUse?: string
}

/**
 * Asks a yes/no question on the terminal; the default is no.
 * @throws RefusedError without a terminal on stdin and stderr, and when stdin ends before an answer
 * @throws InterruptedError on Ctrl-C
 */
export async function confirm(io: Io, question: string, {signal, insteadUse = '--yes'}: AskOptions): Promise<boolean> {
  if (io.stdin.isTTY !== true || !io.stderr.isTTY) {
    throw new RefusedError('nobody to ask: stdin and stderr are not both a terminal', {
      code: 'E_NO_TERMINAL',
      hints: [`add ${insteadUse} to go on without a question, or --dry-run to see the plan`],
    })
  }
  await io.stderr.flush()
  const {default: inquirer} = await import('inquirer')
  const ended = new AbortController()
  const end = (): void => ended.abort()
  io.stdin.once('end', end)
  io.stdin.once('close', end)
  // In raw mode Ctrl-D arrives as a byte; a line reader would treat it as the end of input.
  const onData = (bytes: Buffer | string): void => {
    if (bytes.toString().includes('\u0004')) end()
  }
  io.stdin.on('data', onData)
  try {
    const ask = inquirer.createPromptModule({
      input: io.stdin,
      output: process.stderr,
      signal: AbortSignal.any([signal, ended.signal]),
    })
    const answers: {answer?: unknown} = await ask([
      {type: 'confirm', name: 'answer', message: question, default: false},
    ])
    return answers.answer === true
  } catch (error) {
    if (ended.signal.aborted) return false
    signal.throwIfAborted()
    if (error instanceof Error && error.name === 'ExitPromptError') throw new InterruptedError('SIGINT', {cause: error})
    throw error
  } finally {
    io.stdin.off('end', end)
    io.stdin.off('close', end)
    io.stdin.off('data', onData)
    io.stdin.pause()
  }
}

/**
 * As `confirm`, but a no is an error.
 * @throws RefusedError when the answer is no
 */
export async function confirmOrRefuse(io: Io, question: string, options: AskOptions): Promise<void> {
  if (!(await confirm(io, question, options)))
    throw new RefusedError('declined, nothing was written', {code: 'E_DECLINED'})
}
