/** The Transport over kafkajs' network layer: bootstrap, one connection a broker, metadata, coordinators. */
import {readFile} from 'node:fs/promises'
import {systemClock} from '../../clock.ts'
import {
  findCoordinatorApi,
  type FindCoordinatorRequest,
  type FindCoordinatorResponse,
} from '../protocol/generated/find-coordinator.ts'
import {metadataApi} from '../protocol/generated/metadata.ts'
import {errorName, isRetriableCode, NO_ERROR, protocolError} from '../protocol/errors.ts'
import type {Api, ApiRange, Node, NodeId} from '../protocol/types.ts'
import type {Answer, ClusterMetadata, RequestOptions, Transport} from '../transport.ts'
import {bootstrap} from './kafkajs-bootstrap.ts'
import {BrokerConnection, type ConnectionSettings} from './kafkajs-connection.ts'
import type {TransportDeps} from './kafkajs-deps.ts'
import {within} from './kafkajs-limits.ts'
import {createKafkajsLogger, loadKafkajs} from './kafkajs-load.ts'
import {toClusterMetadata, toNodes} from './kafkajs-metadata.ts'
import {createSaslOptions} from './sasl.ts'
import {formatAddress, type BrokerAddress, type ConnectionConfig} from './security.ts'
import {loadTls} from './tls.ts'
import {TransportError} from './transport-error.ts'

export type {TransportDeps}

const COORDINATOR_KINDS = {group: 0, transaction: 1, share: 2} as const
const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 1000

/** A transport to the cluster of `config`; nothing is opened or loaded before `connect`. */
export function createKafkaTransport(config: ConnectionConfig, deps: TransportDeps = {}): Transport {
  return new KafkajsTransport(config, deps)
}

class KafkajsTransport implements Transport {
  readonly #config: ConnectionConfig
  readonly #deps: Required<TransportDeps>
  readonly #connections = new Map<string, BrokerConnection>()
  readonly #closing = new AbortController()
  #settings: ConnectionSettings | null = null
  #nodes: ReadonlyMap<NodeId, Node> = new Map()
  #controller: NodeId = -1
  #features: ReadonlyMap<string, number> = new Map()
  /** Of the broker that answered first: stands in for brokers that were not talked to yet. */
  #ranges: ReadonlyMap<number, ApiRange> = new Map()

  constructor(config: ConnectionConfig, deps: TransportDeps) {
    this.#config = config
    this.#deps = {clock: systemClock, debug: null, readFile, clientVersion: 'unknown', ...deps}
  }

  get features(): ReadonlyMap<string, number> {
    return this.#features
  }

  async connect({signal}: {signal?: AbortSignal | undefined} = {}): Promise<void> {
    signal?.throwIfAborted()
    const settings = await this.#load()
    const {timeoutMs, bootstrapServers} = this.#config
    const {clock} = this.#deps
    const startMs = clock.monotonic()
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    const first = await bootstrap(bootstrapServers, address => new BrokerConnection(address, settings), {
      clock,
      timeoutMs,
      signal: stop,
    })
    this.#connections.get(first.address)?.drop(new TransportError('closed', first.address, 'connected anew'))
    this.#connections.set(first.address, first)
    this.#features = first.features
    this.#ranges = first.ranges
    try {
      await this.metadata([], {signal, timeoutMs: Math.max(1, timeoutMs - (clock.monotonic() - startMs))})
    } catch (error) {
      // Whoever could not connect does not have to close.
      first.drop(new TransportError('closed', first.address, 'not needed'))
      throw error
    }
  }

  async #load(): Promise<ConnectionSettings> {
    if (this.#settings !== null) return this.#settings
    const {clock, debug, readFile, clientVersion} = this.#deps
    const {tls, sasl, clientId, timeoutMs} = this.#config
    const [kafkajs, tlsOptions] = await Promise.all([loadKafkajs(), tls === null ? null : loadTls(tls, readFile)])
    this.#settings = {
      kafkajs,
      logger: createKafkajsLogger(kafkajs, debug),
      clock,
      clientId,
      clientVersion,
      tls: tlsOptions,
      createSasl: sasl === null ? null : () => createSaslOptions(sasl, readFile),
      connectTimeoutMs: timeoutMs,
      past: {connected: false},
    }
    return this.#settings
  }

  close(): Promise<void> {
    const closed = new TransportError('closed', this.#name(), 'the connection was closed by kdlq')
    this.#closing.abort(closed)
    for (const connection of this.#connections.values()) connection.drop(closed)
    this.#connections.clear()
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  nodes(): readonly Node[] {
    return [...this.#nodes.values()]
  }

  controller(): NodeId {
    return this.#controller
  }

  supports(node: NodeId, api: number): ApiRange | null {
    const target = this.#nodes.get(node)
    const connection = target === undefined ? undefined : this.#connections.get(formatAddress(target))
    const ranges = connection === undefined || connection.ranges.size === 0 ? this.#ranges : connection.ranges
    return ranges.get(api) ?? null
  }

  async send<Req, Res>(
    to: NodeId | 'any' | 'controller',
    api: Api<Req, Res>,
    body: Req,
    options: RequestOptions = {},
  ): Promise<Answer<Res>> {
    if (to === 'any') return this.#sendToAny(api, body, options)
    const id = to === 'controller' ? this.#controller : to
    return this.#sendTo(this.#addressOf(id) ?? (await this.#lookUp(id, options)), api, body, options)
  }

  async #sendTo<Req, Res>(
    target: BrokerAddress,
    api: Api<Req, Res>,
    body: Req,
    options: RequestOptions,
  ): Promise<Answer<Res>> {
    const {signal, maxVersion, timeoutMs = this.#config.requestTimeoutMs} = options
    signal?.throwIfAborted()
    const connection = this.#connectionTo(target)
    if (!connection.isReady) {
      const {address} = connection
      const late = (): Error =>
        new TransportError('timeout', address, `no connection to ${address} within ${timeoutMs} ms`)
      await within(connection.connect(), {clock: this.#deps.clock, timeoutMs, late, signal})
    }
    const answer = await connection.send(api, body, {signal, maxVersion, timeoutMs})
    const {throttleMs} = answer
    if (throttleMs > 0) this.#deps.debug?.(`${connection.address} throttles ${api.name} for ${throttleMs} ms`)
    return answer
  }

  /** Connected brokers first, then known ones, then the bootstrap servers; the next one only when a connection fails. */
  async #sendToAny<Req, Res>(api: Api<Req, Res>, body: Req, options: RequestOptions): Promise<Answer<Res>> {
    const ready = [...this.#connections.values()]
      .filter(connection => connection.isReady)
      .map(connection => connection.target)
    const candidates = new Map(
      [...ready, ...this.#nodes.values(), ...this.#config.bootstrapServers].map(target => [
        formatAddress(target),
        target,
      ]),
    )
    const failures: TransportError[] = []
    for (const target of candidates.values()) {
      try {
        return await this.#sendTo(target, api, body, options)
      } catch (error) {
        const connectionFailed = error instanceof TransportError && CONNECTION_KINDS.has(error.kind)
        if (!connectionFailed || this.#closing.signal.aborted) throw error
        failures.push(error)
      }
    }
    throw failures[0] ?? new TransportError('closed', this.#name(), 'no broker is known')
  }

  #connectionTo(target: BrokerAddress): BrokerConnection {
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason
    if (this.#settings === null)
      throw new TransportError('closed', formatAddress(target), 'the transport is not connected')
    const address = formatAddress(target)
    const known = this.#connections.get(address)
    if (known?.isAlive === true) return known
    // One of its two sockets may still be open.
    known?.drop(new TransportError('closed', address, `the connection to ${address} was lost`))
    const connection = new BrokerConnection(target, this.#settings)
    this.#connections.set(address, connection)
    return connection
  }

  #addressOf(id: NodeId): BrokerAddress | null {
    return this.#nodes.get(id) ?? null
  }

  async #lookUp(id: NodeId, options: RequestOptions): Promise<BrokerAddress> {
    await this.metadata([], options)
    const found = this.#addressOf(id)
    if (found === null)
      throw new TransportError('closed', this.#name(), `broker ${id} is not part of the cluster now`, {
        context: {broker: id},
      })
    return found
  }

  async metadata(topics: readonly string[] | null, options: RequestOptions = {}): Promise<ClusterMetadata> {
    const request = {topics: topics === null ? null : topics.map(name => ({name})), allowAutoTopicCreation: false}
    const {body} = await this.#sendToAny(metadataApi, request, options)
    if (body.errorCode !== NO_ERROR) throw protocolError(body.errorCode, metadataApi.name)
    this.#nodes = toNodes(body, this.#nodes)
    this.#controller = body.controllerId
    return toClusterMetadata(body)
  }

  async coordinator(
    kind: 'group' | 'transaction' | 'share',
    key: string,
    options: RequestOptions = {},
  ): Promise<NodeId> {
    const {clock} = this.#deps
    const {timeoutMs = this.#config.requestTimeoutMs, signal} = options
    const deadline = clock.monotonic() + timeoutMs
    for (let delayMs = FIRST_BACKOFF_MS; ; delayMs = Math.min(delayMs * 2, MAX_BACKOFF_MS)) {
      const found = await this.#findCoordinator(kind, key, options)
      if (found.errorCode === NO_ERROR) {
        // A coordinator can be newer than the metadata.
        if (!this.#nodes.has(found.nodeId)) {
          this.#nodes = new Map([
            ...this.#nodes,
            [found.nodeId, {id: found.nodeId, host: found.host, port: found.port, rack: null}],
          ])
        }
        return found.nodeId
      }
      if (!isRetriableCode(found.errorCode) || clock.monotonic() + delayMs > deadline)
        throw coordinatorError(kind, key, found)
      this.#deps.debug?.(`coordinator of ${kind} ${key}: ${errorName(found.errorCode)}, asking again in ${delayMs} ms`)
      await clock.sleep(delayMs, {signal})
    }
  }

  async #findCoordinator(kind: keyof typeof COORDINATOR_KINDS, key: string, options: RequestOptions) {
    const keyType = COORDINATOR_KINDS[kind]
    const {body} = await this.#sendToAny(coordinatorApi, {key, keyType}, options)
    return body.coordinators[0] ?? body
  }

  invalidate(node: NodeId): void {
    const target = this.#addressOf(node)
    if (target === null) return
    const address = formatAddress(target)
    this.#connections
      .get(address)
      ?.drop(new TransportError('closed', address, `the connection to ${address} was given up`))
    this.#connections.delete(address)
  }

  #name(): string {
    return this.#config.bootstrapServers.map(server => formatAddress(server)).join(',')
  }
}

const CONNECTION_KINDS: ReadonlySet<string> = new Set(['refused', 'dns', 'closed', 'timeout'])

/** FindCoordinator for one key; from version 4 on it stands in a list. */
const coordinatorApi: Api<{key: string; keyType: number}, FindCoordinatorResponse> = {
  ...findCoordinatorApi,
  encode({key, keyType}, version) {
    const one: FindCoordinatorRequest =
      version >= 4 ? {coordinatorKeys: [key], keyType} : {key, ...(version > 0 ? {keyType} : {})}
    return findCoordinatorApi.encode(one, version)
  },
}

function coordinatorError(kind: string, key: string, found: {errorCode: number; errorMessage: string | null}): Error {
  const subject = kind === 'transaction' ? {transactionalId: key} : {group: key}
  const message = found.errorMessage === '' ? null : found.errorMessage
  return protocolError(found.errorCode, findCoordinatorApi.name, {...subject, message})
}
