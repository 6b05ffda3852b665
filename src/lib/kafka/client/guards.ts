/**
 * kafkajs' connection with the guards that a client which may fail, stop and start again needs. Each method says which
 * behaviour of kafkajs 2.2.4 it replaces and why.
 */
import type {Socket} from 'node:net'
import type {ConnectionOptions, ProtocolRequest} from 'kafkajs/src/network/connection.js'
import type {Kafkajs} from './kafkajs-load.ts'
import {ForeignAnswerError, type Stage} from './transport-error.ts'

const SASL_HANDSHAKE = 17
const SASL_AUTHENTICATE = 36
const API_VERSIONS = 18

/** No broker sends more in one answer; what claims more is not Kafka. */
export const MAX_ANSWER_BYTES = 256 * 1024 * 1024

/** A connection as the transport sees it. */
export interface GuardedConnection {
  readonly stage: Stage
  /** The socket's own error, which kafkajs reduces to a text. */
  readonly socketError: Error | null
  /** What the broker answered to SaslHandshake; null before. */
  readonly enabledMechanisms: readonly string[] | null
  /** The connection ended, from whichever side; it never opens again. */
  readonly closed: boolean
  /** Reject everything in flight with `error`, destroy the socket, refuse what comes later. Safe at any moment. */
  closeHard(error: Error): void
}

/** A pool of two guarded connections: Fetch goes over the second, all else over the first. */
export function createGuardedPool(kafkajs: Kafkajs, options: ConnectionOptions) {
  const Guarded = guardedConnectionClass(kafkajs)
  const connections = [new Guarded(options), new Guarded(options)] as const
  const pool = new kafkajs.ConnectionPool(options)
  pool.pool = [...connections]
  return {pool, connections: connections as readonly GuardedConnection[]}
}

function guardedConnectionClass({Connection}: Kafkajs) {
  return class extends Connection implements GuardedConnection {
    stage: Stage = 'socket'
    socketError: Error | null = null
    enabledMechanisms: readonly string[] | null = null
    #connecting: Promise<unknown> | null = null
    #closed: Error | null = null
    #sessionLifetime: unknown

    get closed(): boolean {
      return this.#closed !== null
    }

    constructor(options: ConnectionOptions) {
      const box: {own: ((socket: Socket) => void) | null} = {own: null}
      super({
        ...options,
        socketFactory: input => {
          const socket = options.socketFactory(input)
          box.own?.(socket)
          return socket
        },
      })
      box.own = socket =>
        socket.once('error', error => {
          this.socketError ??= error
        })
      this.#guardTimer()
      this.#guardReauthentication()
    }

    /** kafkajs re-arms a timer every millisecond for ever; it is needed only while something waits. */
    #guardTimer(): void {
      const queue = this.requestQueue
      const arm = queue.scheduleCheckPendingRequests.bind(queue)
      queue.scheduleCheckPendingRequests = () => {
        if (queue.pending.length > 0) arm()
      }
    }

    /** With a threshold of the session's length or more, every request would authenticate again and fail. */
    #guardReauthentication(): void {
      this.#sessionLifetime = this.sessionLifetime
      const longest = this.reauthenticationThreshold
      Object.defineProperty(this, 'sessionLifetime', {
        get: () => this.#sessionLifetime,
        set: (lifetime: {toString(): string}) => {
          this.#sessionLifetime = lifetime
          this.reauthenticationThreshold = Math.min(longest, Math.floor(Number(lifetime.toString()) / 5))
        },
      })
    }

    /** Requests that start together share one socket; bytes of an earlier socket are never read as this one's. */
    override connect(): Promise<unknown> {
      if (this.#closed !== null) return Promise.reject(this.#closed)
      if (this.isConnected()) return Promise.resolve(true)
      this.#connecting ??= this.#open().finally(() => {
        this.#connecting = null
      })
      return this.#connecting
    }

    #open(): Promise<unknown> {
      this.chunks = []
      this.bytesBuffered = 0
      this.bytesNeeded = 4
      return super.connect()
    }

    /** kafkajs waits for answers that never come, and leaves the socket to the peer. */
    override disconnect(): Promise<unknown> {
      this.closeHard(new Error('the connection was closed'))
      return Promise.resolve(true)
    }

    closeHard(error: Error): void {
      if (this.#closed !== null) return
      this.#closed = error
      this.authHandlers?.onError()
      this.requestQueue.rejectAll(error)
      this.requestQueue.destroy()
      this.connectionStatus = 'disconnected'
      this.authenticatedAt = null
      this.chunks = []
      this.bytesBuffered = 0
      // The error makes kafkajs clear the timer of a connect that is still under way.
      this.socket?.destroy(error)
    }

    override async send(message: ProtocolRequest): Promise<unknown> {
      if (this.#closed !== null) throw this.#closed
      this.#enter(message.request.apiKey)
      const answer = await super.send(message.request.apiKey === SASL_HANDSHAKE ? this.#listening(message) : message)
      if (this.stage === 'first-request') this.stage = 'ready'
      return answer
    }

    #enter(apiKey: number): void {
      if (this.stage === 'ready') return
      if (apiKey === SASL_HANDSHAKE || apiKey === SASL_AUTHENTICATE) this.stage = 'sasl'
      else if (apiKey === API_VERSIONS && this.stage === 'socket') this.stage = 'versions'
      else if (this.stage === 'versions') this.stage = 'first-request'
      else if (this.stage === 'sasl' && this.authenticatedAt !== null) this.stage = 'first-request'
    }

    /** kafkajs throws the list of mechanisms away when ours is not among them. */
    #listening(message: ProtocolRequest): ProtocolRequest {
      const {response} = message
      return {
        ...message,
        response: {
          decode: async payload => {
            const body = await response.decode(payload)
            if ('enabledMechanisms' in body && Array.isArray(body.enabledMechanisms)) {
              this.enabledMechanisms = body.enabledMechanisms.map(mechanism => String(mechanism))
            }
            return body
          },
          parse: body => response.parse(body),
        },
      }
    }

    /** Cuts the stream into answers. kafkajs trusts the length; a wrong one ends in an exception that nobody catches. */
    override processData(data: Buffer): void {
      if (this.#closed !== null) return
      if (this.authHandlers !== null && !this.authExpectResponse) {
        this.authHandlers.onSuccess(data)
        return
      }
      this.chunks.push(data)
      this.bytesBuffered += data.length
      while (this.bytesBuffered >= this.bytesNeeded) {
        const [first = data] = this.chunks
        const buffer = this.chunks.length === 1 ? first : Buffer.concat(this.chunks, this.bytesBuffered)
        const size = buffer.readInt32BE(0)
        if (size < 4 || size > MAX_ANSWER_BYTES) {
          this.closeHard(foreignAnswer(buffer, size))
          return
        }
        const end = size + 4
        if (buffer.length < end) {
          this.chunks = [buffer]
          this.bytesNeeded = end
          return
        }
        this.#keepRest(buffer.subarray(end))
        this.#deliver(buffer.subarray(0, end), size)
      }
    }

    #keepRest(rest: Buffer): void {
      this.chunks = rest.length === 0 ? [] : [rest]
      this.bytesBuffered = rest.length
      this.bytesNeeded = 4
    }

    #deliver(frame: Buffer, size: number): void {
      if (this.authHandlers !== null) this.authHandlers.onSuccess(frame)
      else this.requestQueue.fulfillRequest({size, correlationId: frame.readInt32BE(4), payload: frame.subarray(8)})
    }
  }
}

function foreignAnswer(buffer: Buffer, size: number): ForeignAnswerError {
  if (buffer[0] === 0x15 && buffer[1] === 0x03) return new ForeignAnswerError('tls', 'a TLS alert came')
  if (buffer.subarray(0, 4).toString('latin1') === 'HTTP')
    return new ForeignAnswerError('http', 'an HTTP server answered')
  return new ForeignAnswerError('unknown', `an answer of ${size} bytes was announced`)
}
