import {EXIT, type ExitCode, KdlqError} from '../../errors.ts'
import type {RegistryReason} from '../types.ts'

const EXIT_CODES: Partial<Record<RegistryReason, ExitCode>> = {
  unreachable: EXIT.UNREACHABLE,
  timeout: EXIT.UNREACHABLE,
  unauthorized: EXIT.AUTH,
  forbidden: EXIT.AUTH,
}

/** A schema registry did not give what was asked for (exit 4 not allowed, 5 not reached, else 1). */
export class RegistryError extends KdlqError {
  readonly reason: RegistryReason
  override readonly exitCode: ExitCode

  constructor(
    reason: RegistryReason,
    message: string,
    details: {readonly cause?: unknown; readonly url?: string} = {},
  ) {
    super(message, 'E_SCHEMA_REGISTRY', {
      cause: details.cause,
      retriable: reason === 'unreachable' || reason === 'timeout' || reason === 'server-error',
      context: {reason, ...(details.url === undefined ? {} : {url: details.url})},
    })
    this.reason = reason
    this.exitCode = EXIT_CODES[reason] ?? EXIT.FAILED
  }
}
