/** One broker: its connections, what it can do, and how long it made us wait. Lives until the first failure. */
import type {Socket} from 'node:net'
import type {Clock} from '../../clock.ts'
import {BugError} from '../../errors.ts'
import {apiVersionsApi} from '../protocol/generated/api-versions.ts'
import type {Api, ApiRange} from '../protocol/types.ts'
import {WireReader} from '../protocol/wire.ts'
import type {Answer} from '../transport.ts'
import {createGuardedPool} from './guards.ts'
import type {Kafkajs} from './kafkajs-load.ts'
import {within} from './kafkajs-limits.ts'
import {formatAddress, type BrokerAddress} from './security.ts'
import type {SaslOptions} from './sasl.ts'
import {openSocket, type TlsOptions} from './tls.ts'
import {toTransportError, TransportError, type FailureScene} from './transport-error.ts'

const FETCH = 1

/** What every connection of one transport shares. */
export interface ConnectionSettings {
  readonly kafkajs: Kafkajs
  readonly logger: unknown
  readonly clock: Clock
  readonly clientId: string
  /** Told to the broker (KIP-511). */
  readonly clientVersion: string
  readonly tls: TlsOptions | null
  /** A new one for each broker: kafkajs keeps state in it. */
  readonly createSasl: (() => SaslOptions) | null
  readonly connectTimeoutMs: number
  /** Set by the first connection that gets through: from then on the settings are known to be right. */
  readonly past: {connected: boolean}
}

export interface SendLimits {
  readonly signal?: AbortSignal | undefined
  readonly maxVersion?: number | undefined
  readonly timeoutMs: number
}

/** Connection to one broker. After any TransportError it is dead and refuses to send: the transport makes a new one. */
export class BrokerConnection {
  readonly address: string
  readonly target: BrokerAddress
  readonly #settings: ConnectionSettings
  readonly #guarded: ReturnType<typeof createGuardedPool>
  readonly #mechanism: string | null
  #ready: Promise<void> | null = null
  #isReady = false
  #dropped: Error | null = null
  /** Wakes who waits out a throttle when the connection is dropped. */
  readonly #gone = new AbortController()
  #ranges: ReadonlyMap<number, ApiRange> = new Map()
  #features: ReadonlyMap<string, number> = new Map()
  /** Monotonic ms until which the broker wants silence (KIP-219), for [others, Fetch]. */
  readonly #quietUntil: [number, number] = [0, 0]

  constructor(target: BrokerAddress, settings: ConnectionSettings) {
    this.target = target
    this.address = formatAddress(target)
    this.#settings = settings
    const sasl = settings.createSasl?.() ?? null
    this.#mechanism = sasl?.mechanism ?? null
    this.#guarded = createGuardedPool(settings.kafkajs, {
      host: target.host,
      port: target.port,
      rack: null,
      logger: settings.logger,
      socketFactory: ({host, port, onConnect}): Socket => openSocket(host, port, settings.tls, onConnect),
      ssl: settings.tls,
      sasl,
      clientId: settings.clientId,
      // Limits are ours (kafkajs' own keep an interval running); this one only has to be longer.
      connectionTimeout: settings.connectTimeoutMs + 1000,
      requestTimeout: settings.connectTimeoutMs + 1000,
      enforceRequestTimeout: false,
      maxInFlightRequests: null,
      reauthenticationThreshold: 10_000,
    })
  }

  /** By API key, as this broker advertises them; empty until connected. */
  get ranges(): ReadonlyMap<number, ApiRange> {
    return this.#ranges
  }

  /** Finalized features by name. */
  get features(): ReadonlyMap<string, number> {
    return this.#features
  }

  get isReady(): boolean {
    return this.#isReady && this.isAlive
  }

  get isAlive(): boolean {
    return this.#dropped === null && this.#guarded.connections.every(connection => !connection.closed)
  }

  /** Connect, authenticate and learn the broker's versions; one attempt that all callers share. */
  connect(): Promise<void> {
    this.#ready ??= this.#open()
    return this.#ready
  }

  async #open(): Promise<void> {
    const {kafkajs, logger, clock, connectTimeoutMs} = this.#settings
    const {pool} = this.#guarded
    const broker = new kafkajs.Broker({
      connectionPool: pool,
      logger,
      nodeId: null,
      authenticationTimeout: connectTimeoutMs,
      allowAutoTopicCreation: false,
    })
    const late = (): Error =>
      new TransportError('timeout', this.address, `${this.address} did not answer within ${connectTimeoutMs} ms`)
    try {
      await within(this.#handshake(broker), {clock, timeoutMs: connectTimeoutMs, late})
    } catch (error) {
      throw this.#fail(error)
    }
    this.#isReady = true
    this.#settings.past.connected = true
  }

  async #handshake(broker: InstanceType<Kafkajs['Broker']>): Promise<void> {
    await broker.connect()
    const versions = broker.versions
    // kafkajs says "connected" as soon as the socket is, even when ApiVersions got no answer.
    if (versions === null)
      throw new TransportError('closed', this.address, `${this.address} did not say what it can do`)
    this.#ranges = new Map(
      Object.entries(versions).map(([key, {minVersion: min, maxVersion: max}]) => [Number(key), {min, max}]),
    )
    // kafkajs asks with version 2, which has no features.
    const version = this.#choose(apiVersionsApi)
    const software = {clientSoftwareName: 'kdlq', clientSoftwareVersion: this.#settings.clientVersion}
    const {body} = await this.#exchange(
      apiVersionsApi,
      apiVersionsApi.encode(version >= 3 ? software : {}, version),
      version,
    )
    if (body.errorCode === 0) {
      this.#ranges = new Map(body.apiKeys.map(({apiKey, minVersion: min, maxVersion: max}) => [apiKey, {min, max}]))
    }
    this.#features = new Map(body.finalizedFeatures.map(feature => [feature.name, feature.maxVersionLevel]))
  }

  /** @throws TransportError, ProtocolFormatError for an answer that cannot be read, or the signal's reason */
  async send<Req, Res>(
    api: Api<Req, Res>,
    body: Req,
    {signal, maxVersion, timeoutMs}: SendLimits,
  ): Promise<Answer<Res>> {
    if (this.#dropped !== null) throw this.#dropped
    const version = this.#choose(api, maxVersion)
    const encoded = api.encode(body, version)
    const {clock} = this.#settings
    const lane = api.key === FETCH ? 1 : 0
    const quietMs = this.#quietUntil[lane] - clock.monotonic()
    if (quietMs > 0)
      await clock.sleep(quietMs, {
        signal: AbortSignal.any(signal === undefined ? [this.#gone.signal] : [this.#gone.signal, signal]),
      })
    const late = (): Error =>
      new TransportError('timeout', this.address, `${this.address} did not answer ${api.name} within ${timeoutMs} ms`, {
        context: {api: api.name, timeoutMs},
      })
    // A muted broker reads nothing of this connection: what was sent before it said so has its time from then on.
    const extendedTo = (): number => this.#quietUntil[lane] + timeoutMs
    try {
      const answer = await within(this.#exchange(api, encoded, version), {clock, timeoutMs, extendedTo, late, signal})
      const {throttleMs} = answer
      if (throttleMs > 0) this.#quietUntil[lane] = Math.max(this.#quietUntil[lane], clock.monotonic() + throttleMs)
      return answer
    } catch (error) {
      // An abort only ends the wait; the answer is read and dropped when it comes.
      if (signal?.aborted === true && error === signal.reason) throw error
      throw this.#fail(error)
    }
  }

  /** Close both sockets at once; what is in flight fails with `error`. */
  drop(error: Error): void {
    if (this.#dropped !== null) return
    this.#dropped = error
    this.#gone.abort(error)
    for (const connection of this.#guarded.connections) connection.closeHard(error)
  }

  #choose<Req, Res>(api: Api<Req, Res>, cap = Number.POSITIVE_INFINITY): number {
    const theirs = this.#ranges.get(api.key)
    const version = Math.min(api.versions.max, theirs?.max ?? -1, cap)
    if (theirs !== undefined && version >= api.versions.min && version >= theirs.min) return version
    const offered = theirs === undefined ? 'does not have it' : `takes versions ${theirs.min} to ${theirs.max}`
    const ours = `${api.versions.min} to ${Math.min(api.versions.max, cap)}`
    throw new TransportError(
      'unsupported',
      this.address,
      `${api.name} is not possible: ${this.address} ${offered}, kdlq speaks ${ours}`,
      {
        context: {api: api.name},
      },
    )
  }

  async #exchange<Req, Res>(api: Api<Req, Res>, encoded: Buffer, version: number): Promise<Answer<Res>> {
    const flexible = api.flexibleFrom !== null && version >= api.flexibleFrom
    const payload = await this.#guarded.pool.send({
      request: {
        apiKey: api.key,
        apiVersion: version,
        apiName: api.name,
        // Request header 2 is header 1 with an empty tag section behind it.
        encode: async () => this.#encoder(flexible ? Buffer.concat([NO_TAGS, encoded]) : encoded),
      },
      response: {decode: async bytes => bytes, parse: async bytes => bytes},
      logResponseError: false,
    })
    if (!Buffer.isBuffer(payload)) throw new BugError(`no answer to ${api.name}`)
    const start = flexible && api.key !== apiVersionsApi.key ? skipTags(payload) : 0
    const answer = api.decode(start === 0 ? payload : payload.subarray(start), version)
    return {version, throttleMs: throttleOf(answer), body: answer}
  }

  #encoder(bytes: Buffer): object {
    const encoder = new this.#settings.kafkajs.Encoder(bytes.length)
    encoder.writeBufferInternal(bytes)
    return encoder
  }

  /** Error to throw; the connection is gone from here on unless the broker only lacks an API. */
  #fail(error: unknown): Error {
    const main = this.#guarded.connections.find(({socketError}) => socketError !== null) ?? this.#guarded.connections[0]
    const scene: FailureScene = {
      address: this.address,
      tls: this.#settings.tls !== null,
      saslMechanism: this.#mechanism,
      stage: main?.stage ?? 'socket',
      connectedBefore: this.#settings.past.connected,
      socketError: main?.socketError ?? null,
      enabledMechanisms: main?.enabledMechanisms ?? null,
    }
    const known = toTransportError(error, scene)
    if (!(known instanceof TransportError && known.kind === 'unsupported')) this.drop(known)
    return known
  }
}

const NO_TAGS = Buffer.of(0)

function skipTags(payload: Buffer): number {
  const header = new WireReader(payload, true)
  header.tags()
  return header.offset
}

function throttleOf(body: unknown): number {
  if (typeof body !== 'object' || body === null || !('throttleTimeMs' in body)) return 0
  return typeof body.throttleTimeMs === 'number' ? Math.max(0, body.throttleTimeMs) : 0
}
