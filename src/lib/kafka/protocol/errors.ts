/** Kafka's protocol error codes as errors of kdlq. */
import {AuthError, KafkaError, UnreachableError, type ErrorDetails, type KdlqError} from '../../errors.ts'
import {ERROR_TABLE} from './generated/errors.ts'

/** Code of "no error" in every answer. */
export const NO_ERROR = 0

/** What a failed answer was about; only what is known. */
export interface ErrorSubject {
  readonly topic?: string | undefined
  readonly partition?: number | undefined
  readonly group?: string | undefined
  readonly transactionalId?: string | undefined
  /** Node id of the broker that answered. */
  readonly broker?: number | undefined
  /** The broker's own text, when the answer carries one. */
  readonly message?: string | null | undefined
}

const AUTHENTICATION = new Set(['SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM', 'ILLEGAL_SASL_STATE'])
const TIMEOUTS = new Set(['REQUEST_TIMED_OUT', 'NETWORK_EXCEPTION'])

/** Kafka's name of an error code, `UNKNOWN(code)` for one that this table does not have. */
export function errorName(code: number): string {
  return ERROR_TABLE.get(code)?.name ?? `UNKNOWN(${code})`
}

/** Whether Kafka's own clients repeat a request after this error; false for unknown codes. */
export function isRetriableCode(code: number): boolean {
  return ERROR_TABLE.get(code)?.retriable ?? false
}

/** Code of a name in Kafka's list, for comparisons that read well. @throws RangeError for a name that is not in it */
export function errorCode(name: string): number {
  for (const [code, row] of ERROR_TABLE) if (row.name === name) return code
  throw new RangeError(`${name} is no protocol error`)
}

/**
 * The error for a protocol error code other than 0: AuthError for missing rights and refused credentials,
 * UnreachableError for timeouts, else KafkaError. `context` holds `protocolError`, `protocolCode`, `api` and the subject.
 * @param api name of the API that was asked
 */
export function protocolError(code: number, api: string, subject: ErrorSubject = {}): KdlqError {
  const name = errorName(code)
  const resource = resourceOf(name, subject)
  const text = subject.message === undefined || subject.message === null ? '' : `: ${oneLine(subject.message)}`
  const details: ErrorDetails = {
    code: ERROR_TABLE.has(code) ? `E_${name}` : 'E_UNKNOWN_PROTOCOL_ERROR',
    retriable: isRetriableCode(code),
    context: {api, protocolError: name, protocolCode: code, ...facts(subject)},
  }
  const about = resource === null ? '' : ` for ${resource}`
  if (name.endsWith('_AUTHORIZATION_FAILED')) {
    const hints = [`the principal of this connection lacks an ACL${about} that ${api} needs`]
    return new AuthError(`not authorized: ${name} in ${api}${about}${text}`, {...details, hints})
  }
  if (AUTHENTICATION.has(name)) return new AuthError(`not authenticated: ${name} in ${api}${text}`, details)
  const message = `kafka answered ${name} to ${api}${about}${text}`
  return TIMEOUTS.has(name) ? new UnreachableError(message, details) : new KafkaError(message, details)
}

function resourceOf(name: string, {topic, partition, group, transactionalId}: ErrorSubject): string | null {
  if (name.startsWith('CLUSTER_')) return 'the cluster'
  if (name.startsWith('GROUP_') && group !== undefined) return `group ${group}`
  if (name.startsWith('TRANSACTIONAL_ID_') && transactionalId !== undefined)
    return `transactional id ${transactionalId}`
  if (topic !== undefined) return partition === undefined ? `topic ${topic}` : `topic ${topic}, partition ${partition}`
  if (group !== undefined) return `group ${group}`
  return transactionalId === undefined ? null : `transactional id ${transactionalId}`
}

function facts(subject: ErrorSubject): Record<string, string | number> {
  const known = Object.entries(subject).filter(
    ([key, value]) => key !== 'message' && value !== undefined && value !== null,
  )
  return Object.fromEntries(known) as Record<string, string | number>
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '')
}
