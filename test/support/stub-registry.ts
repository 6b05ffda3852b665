import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import {createServer as createTlsServer, type ServerOptions} from 'node:https'
import type {AddressInfo} from 'node:net'

export interface StubReference {
  readonly name: string
  readonly subject: string
  readonly version: number
}

export interface StubSchema {
  readonly schema: string
  /** Absent = AVRO, as registries do. */
  readonly schemaType?: 'PROTOBUF' | 'JSON'
  readonly references?: readonly StubReference[]
}

/** How it answers instead of by its contents. */
export type StubMood = 'answer' | 'stall' | 'html' | 'redirect' | 'large' | 'reset' | 401 | 403 | 404 | 500

/** The four endpoints of a schema registry that kdlq asks, on a port of its own. */
export interface StubRegistry extends AsyncDisposable {
  readonly url: string
  readonly ids: Map<number, StubSchema>
  readonly guids: Map<string, StubSchema>
  /** By `subject/version`; also `subject/latest`. */
  readonly versions: Map<string, StubSchema & {readonly id: number}>
  /** Subjects of an id. */
  readonly subjects: Map<number, readonly {readonly subject: string; readonly version: number}[]>
  mood: StubMood
  /** Paths that were asked for, in order. */
  readonly requests: string[]
  /** Authorization headers, in order. */
  readonly authorizations: (string | undefined)[]
}

/** Starts it. @param tls makes it an https server with these options */
export async function startStubRegistry(tls?: ServerOptions): Promise<StubRegistry> {
  const stub = new Stub()
  const handle = (request: IncomingMessage, response: ServerResponse): void => stub.handle(request, response)
  const server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle)
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  stub.listen(server, tls === undefined ? 'http' : 'https')
  return stub
}

class Stub implements StubRegistry {
  readonly ids: StubRegistry['ids'] = new Map()
  readonly guids: StubRegistry['guids'] = new Map()
  readonly versions: StubRegistry['versions'] = new Map()
  readonly subjects: StubRegistry['subjects'] = new Map()
  readonly requests: string[] = []
  readonly authorizations: (string | undefined)[] = []
  mood: StubMood = 'answer'
  url = ''
  #server: Server | null = null

  listen(server: Server, protocol: string): void {
    this.#server = server
    this.url = `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(request.url ?? '')
    this.authorizations.push(request.headers.authorization)
    const {mood} = this
    if (mood === 'stall') return
    if (mood === 'reset') return void request.socket.destroy()
    if (mood === 'html') return void response.writeHead(200, {'content-type': 'text/html'}).end('<html>hello</html>')
    if (mood === 'redirect') return void response.writeHead(302, {location: 'http://elsewhere.example/x?token=1'}).end()
    if (mood === 'large') return void response.writeHead(200).end(`{"schema":"${'x'.repeat(5 * 1024 * 1024)}"}`)
    if (typeof mood === 'number')
      return void response.writeHead(mood).end(mood === 404 ? '<h1>404</h1>' : '{"error_code":1}')
    const [status, body] = this.#answer(request.url ?? '')
    response.writeHead(status, {'content-type': 'application/vnd.schemaregistry.v1+json'}).end(JSON.stringify(body))
  }

  #answer(path: string): [number, unknown] {
    const parts = path.split('/').map(decodeURIComponent)
    const [, first, second, third, fourth] = parts
    if (first === 'schemas' && second === 'ids' && fourth === 'versions')
      return [200, this.subjects.get(Number(third)) ?? []]
    if (first === 'schemas' && second === 'ids') return found(this.ids.get(Number(third)), 40_403)
    if (first === 'schemas' && second === 'guids') return found(this.guids.get(third ?? ''), 40_403)
    if (first === 'subjects' && third === 'versions') {
      return found(this.versions.get(`${second}/${fourth}`), 40_401)
    }
    return [404, {error_code: 404, message: 'HTTP 404 Not Found'}]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = this.#server
    if (server === null) return
    server.closeAllConnections()
    await new Promise(resolve => {
      server.close(resolve)
    })
  }
}

function found(schema: StubSchema | undefined, code: number): [number, unknown] {
  return schema === undefined ? [404, {error_code: code, message: 'not found'}] : [200, schema]
}
