import type {Clock} from '../../clock.ts'
import {isKdlqError, type KdlqError} from '../../errors.ts'
import type {BrokerConnection} from './kafkajs-connection.ts'
import {within} from './kafkajs-limits.ts'
import {formatAddress, type BrokerAddress} from './security.ts'
import {TransportError, type TransportErrorKind} from './transport-error.ts'

/** The next bootstrap server is tried when one failed, or was silent for this long. */
const HEAD_START_MS = 500

/** What a person can do most about comes first. */
const TELLING: readonly TransportErrorKind[] = [
  'auth',
  'config',
  'tls',
  'unsupported',
  'closed',
  'timeout',
  'refused',
  'dns',
]

export interface BootstrapLimits {
  readonly clock: Clock
  /** For all servers together, ms. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Connect to whichever bootstrap server answers first. Each is tried once, in order, the next one with a short delay, so
 * that one dead server costs half a second and all of them together no more than the limit.
 * @throws the most telling cause; every server's own is in `context.causes` and, as errors, in `cause`
 */
export async function bootstrap(
  servers: readonly BrokerAddress[],
  open: (address: BrokerAddress) => BrokerConnection,
  {clock, timeoutMs, signal}: BootstrapLimits,
): Promise<BrokerConnection> {
  const tried: BrokerConnection[] = []
  const failures: KdlqError[] = []
  const {promise: winner, resolve, reject} = Promise.withResolvers<BrokerConnection>()
  const over = new AbortController()
  const attempt = async (address: BrokerAddress): Promise<boolean> => {
    const connection = open(address)
    tried.push(connection)
    try {
      await connection.connect()
      resolve(connection)
      return true
    } catch (error) {
      if (!isKdlqError(error)) throw error
      failures.push(error)
      if (failures.length === servers.length) reject(summarize(failures))
      return false
    }
  }
  const startAll = async (): Promise<void> => {
    for (const address of servers) {
      const work = attempt(address)
      work.catch(reject)
      if (await Promise.race([work, headStart(clock, over.signal)])) return
    }
  }
  startAll().catch((error: unknown) => {
    if (!over.signal.aborted) reject(error)
  })
  const names = servers.map(server => formatAddress(server)).join(',')
  const late = (): Error =>
    summarize([
      ...failures,
      new TransportError('timeout', names, `no broker of ${names} answered within ${timeoutMs} ms`),
    ])
  try {
    const connection = await within(winner, {clock, timeoutMs, late, signal})
    close(tried.filter(other => other !== connection))
    return connection
  } catch (error) {
    close(tried)
    throw error
  } finally {
    over.abort()
  }
}

async function headStart(clock: Clock, signal: AbortSignal): Promise<boolean> {
  await clock.sleep(HEAD_START_MS, {signal})
  return false
}

function close(connections: readonly BrokerConnection[]): void {
  for (const connection of connections) {
    connection.drop(
      new TransportError('closed', connection.address, `the connection to ${connection.address} is not needed`),
    )
  }
}

function summarize(failures: readonly KdlqError[]): KdlqError {
  const ranked = [...failures].sort((a, b) => rank(a) - rank(b))
  const [first, ...others] = ranked
  if (others.length === 0 || !(first instanceof TransportError))
    return first ?? new TransportError('closed', '', 'no bootstrap server')
  return new TransportError(first.kind, first.address, first.message, {
    hint: first.hint ?? undefined,
    context: {...first.context, causes: failures.map(failure => failure.message)},
    cause: new AggregateError(failures, 'every bootstrap server failed'),
  })
}

function rank(error: KdlqError): number {
  return error instanceof TransportError ? TELLING.indexOf(error.kind) : -1
}
