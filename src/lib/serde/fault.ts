import {RecordError} from '../errors.ts'
import type {DecodeProblem, DecodeStep, RegistryReason} from './types.ts'

interface FaultPlace {
  readonly at?: number | undefined
  readonly field?: string | undefined
  readonly reason?: RegistryReason | undefined
  readonly cause?: unknown
}

/** Bytes that do not fit, or a schema that cannot be used. Raised inside this folder, given out as a `DecodeProblem`. */
export class DecodeFault extends RecordError {
  readonly problem: DecodeProblem

  constructor(step: DecodeStep, message: string, {at, field, reason, cause}: FaultPlace = {}) {
    super(message, {code: 'E_DECODE', cause})
    this.problem = {
      step,
      message,
      ...(at === undefined ? {} : {at}),
      ...(field === undefined || field === '' ? {} : {field}),
      ...(reason === undefined ? {} : {reason}),
    }
  }
}

/**
 * Anything thrown while decoding, as a problem: a library's error, or a stack that was too deep, too.
 * @param step what was being done
 */
export function toProblem(error: unknown, step: DecodeStep): DecodeProblem {
  if (error instanceof DecodeFault) return error.problem
  if (error instanceof RangeError && /call stack/i.test(error.message)) return {step, message: 'nested too deeply'}
  const text = error instanceof Error ? error.message : String(error)
  const line = (text.split('\n')[0] ?? '').slice(0, 300)
  return {step, message: line === '' ? 'failed without a reason' : line}
}

const TRANSIENT: ReadonlySet<RegistryReason> = new Set(['unreachable', 'timeout', 'server-error'])

/** True when the registry did not answer: asking again may help, and says nothing about the payload. */
export function isTransient({reason}: DecodeProblem): boolean {
  return reason !== undefined && TRANSIENT.has(reason)
}
