import {createServer, type AddressInfo, type Server, type Socket} from 'node:net'
import {writeApiVersionsResponse} from '../../src/lib/kafka/protocol/generated/api-versions.ts'
import {writeMetadataResponse} from '../../src/lib/kafka/protocol/generated/metadata.ts'
import {WireWriter} from '../../src/lib/kafka/protocol/wire.ts'

export interface FakeRequest {
  readonly api: number
  readonly version: number
  readonly correlationId: number
  /** All after the client id. */
  readonly rest: Buffer
  readonly socket: Socket
}

/** Body of the answer (with the response header's tags where it has some); null = say nothing. */
export type FakeAnswer = (request: FakeRequest) => Buffer | null

export const API_VERSIONS = 18
export const METADATA = 3

/** Versions that the fake broker says it has. */
export const FAKE_RANGES: Readonly<Record<number, readonly [number, number]>> = {
  1: [4, 12],
  3: [0, 12],
  10: [0, 6],
  17: [0, 1],
  18: [0, 4],
  36: [0, 2],
}

/** A listener of 127.0.0.1 that speaks as much of Kafka's protocol as a test tells it to. */
export class FakeBroker implements AsyncDisposable {
  readonly requests: FakeRequest[] = []
  readonly sockets = new Set<Socket>()
  /** How many connections were accepted, ever. */
  accepted = 0
  answer: FakeAnswer
  readonly #server: Server

  private constructor(answer: FakeAnswer | null) {
    this.answer = answer ?? (request => this.usual(request))
    this.#server = createServer(socket => this.#accept(socket))
  }

  static async start(answer: FakeAnswer | null = null): Promise<FakeBroker> {
    const broker = new FakeBroker(answer)
    await new Promise<void>(resolve => {
      broker.#server.listen(0, '127.0.0.1', resolve)
    })
    return broker
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** What a broker of one answers to ApiVersions and Metadata; nothing to the rest. */
  usual({api, version}: FakeRequest): Buffer | null {
    if (api === API_VERSIONS) return apiVersions(version)
    return api === METADATA ? metadata(version, this.port) : null
  }

  /** Requests for one API. */
  of(api: number): FakeRequest[] {
    return this.requests.filter(request => request.api === api)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise(resolve => {
      this.#server.close(resolve)
    })
  }

  #accept(socket: Socket): void {
    this.accepted++
    this.sockets.add(socket)
    socket.on('close', () => this.sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    let pending: Buffer = Buffer.alloc(0)
    socket.on('data', (data: Buffer) => {
      pending = Buffer.concat([pending, data])
      while (pending.length >= 4 && pending.length >= pending.readInt32BE(0) + 4) {
        const end = pending.readInt32BE(0) + 4
        this.#serve(pending.subarray(4, end), socket)
        pending = pending.subarray(end)
      }
    })
  }

  #serve(frame: Buffer, socket: Socket): void {
    const clientIdLength = Math.max(0, frame.readInt16BE(8))
    const request = {
      api: frame.readInt16BE(0),
      version: frame.readInt16BE(2),
      correlationId: frame.readInt32BE(4),
      rest: frame.subarray(10 + clientIdLength),
      socket,
    }
    this.requests.push(request)
    const body = this.answer(request)
    if (body !== null) socket.write(framed(request.correlationId, body))
  }
}

/** Length, correlation id, body. */
export function framed(correlationId: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeInt32BE(body.length + 4, 0)
  head.writeInt32BE(correlationId, 4)
  return Buffer.concat([head, body])
}

export function apiVersions(version: number, ranges = FAKE_RANGES): Buffer {
  const w = new WireWriter(version >= 3)
  const body = {
    errorCode: 0,
    apiKeys: Object.entries(ranges).map(([key, [minVersion, maxVersion]]) => ({
      apiKey: Number(key),
      minVersion,
      maxVersion,
    })),
    throttleTimeMs: 0,
    supportedFeatures: [],
    finalizedFeaturesEpoch: version >= 3 ? 7n : -1n,
    finalizedFeatures: version >= 3 ? [{name: 'transaction.version', maxVersionLevel: 2, minVersionLevel: 1}] : [],
    zkMigrationReady: false,
  }
  writeApiVersionsResponse(w, body, version)
  return Buffer.from(w.finish())
}

/** A cluster of one broker, id 1, on this port; `throttleTimeMs` for quota tests. */
export function metadata(version: number, port: number, throttleTimeMs = 0): Buffer {
  const w = new WireWriter(version >= 9)
  if (version >= 9) w.tags()
  const body = {
    throttleTimeMs,
    brokers: [{nodeId: 1, host: '127.0.0.1', port, rack: null}],
    clusterId: 'fake',
    controllerId: 1,
    topics: [],
    clusterAuthorizedOperations: -2_147_483_648,
    errorCode: 0,
  }
  writeMetadataResponse(w, body, version)
  return Buffer.from(w.finish())
}
