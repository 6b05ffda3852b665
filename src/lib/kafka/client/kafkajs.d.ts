/** The files of kafkajs 2.2.4 that the transport builds on, as far as it uses them. Checked by test/contract/kafkajs.test.ts. */

declare module 'kafkajs/src/network/connection.js' {
  import type {Socket} from 'node:net'

  export interface SocketFactoryInput {
    readonly host: string
    readonly port: number
    readonly ssl: unknown
    readonly onConnect: () => void
  }

  export interface ConnectionOptions {
    readonly host: string
    readonly port: number
    readonly rack: string | null
    readonly logger: unknown
    readonly socketFactory: (input: SocketFactoryInput) => Socket
    readonly ssl: object | null
    readonly sasl: object | null
    readonly clientId: string
    readonly connectionTimeout: number
    readonly requestTimeout: number
    readonly enforceRequestTimeout: boolean
    readonly maxInFlightRequests: number | null
    readonly reauthenticationThreshold: number
  }

  export interface ProtocolRequest {
    readonly request: {
      readonly apiKey: number
      readonly apiVersion: number
      readonly apiName: string
      expectResponse?(): boolean
      encode(): Promise<object>
    }
    readonly response: {
      decode(payload: Buffer): Promise<object>
      parse(body: object): Promise<object>
    }
    readonly requestTimeout?: number | null
    readonly logResponseError?: boolean
  }

  export interface RequestQueue {
    readonly pending: readonly unknown[]
    readonly inflight: ReadonlyMap<number, unknown>
    scheduleCheckPendingRequests(): void
    fulfillRequest(answer: {size: number; correlationId: number; payload: Buffer}): void
    rejectAll(error: Error): void
    destroy(): void
  }

  export default class Connection {
    constructor(options: ConnectionOptions)
    readonly host: string
    readonly port: number
    readonly requestQueue: RequestQueue
    socket: Socket | undefined
    chunks: Buffer[]
    bytesBuffered: number
    bytesNeeded: number
    connectionStatus: string
    authenticatedAt: unknown
    sessionLifetime: unknown
    reauthenticationThreshold: number
    authHandlers: {onSuccess(data: Buffer): void; onError(): void} | null
    authExpectResponse: boolean
    connect(): Promise<unknown>
    disconnect(): Promise<unknown>
    isConnected(): boolean
    send(request: ProtocolRequest): Promise<unknown>
    processData(data: Buffer): void
  }
}

declare module 'kafkajs/src/network/connectionPool.js' {
  import type Connection from 'kafkajs/src/network/connection.js'
  import type {ConnectionOptions, ProtocolRequest} from 'kafkajs/src/network/connection.js'

  export default class ConnectionPool {
    constructor(options: ConnectionOptions)
    pool: Connection[]
    send(request: ProtocolRequest): Promise<unknown>
  }
}

declare module 'kafkajs/src/broker/index.js' {
  import type ConnectionPool from 'kafkajs/src/network/connectionPool.js'

  export default class Broker {
    constructor(options: {
      connectionPool: ConnectionPool
      logger: unknown
      nodeId: number | null
      authenticationTimeout: number
      allowAutoTopicCreation: boolean
    })
    readonly connectionPool: ConnectionPool
    /** By API key; null until the broker said it. */
    readonly versions: Readonly<Record<string, {readonly minVersion: number; readonly maxVersion: number}>> | null
    connect(): Promise<void>
    isConnected(): boolean
  }
}

declare module 'kafkajs/src/protocol/encoder.js' {
  export default class Encoder {
    constructor(size?: number)
    writeBufferInternal(buffer: Buffer): void
  }
}

declare module 'kafkajs/src/loggers/index.js' {
  export interface LogEntry {
    readonly namespace: string
    readonly label: string
    readonly log: {readonly message: string}
  }
  const loggers: {
    readonly LEVELS: {readonly NOTHING: number; readonly DEBUG: number}
    createLogger(options: {level: number; logCreator: (level: number) => (entry: LogEntry) => void}): unknown
  }
  export default loggers
}
