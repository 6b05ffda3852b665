import {readFile} from 'node:fs/promises'
import {createServer} from 'node:http'
import type {IncomingMessage, ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {join} from 'node:path'
import {expect, onTestFinished, test} from 'vitest'
import {parseConnectAddress, readConnectors} from '../../../src/lib/connect-rest/connectors.ts'

const fixture = join(import.meta.dirname, '../../fixtures/connect-rest/connectors-expand-status-info.json')

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function read(url: string, timeoutMs = 5000) {
  const address = parseConnectAddress(url)
  if (address === null) throw new Error('no address')
  return readConnectors(address, {timeoutMs})
}

test('a real worker’s listing: names, types, configurations, states of tasks', async () => {
  const text = await readFile(fixture, 'utf8')
  const asked: (string | undefined)[] = []
  const url = await serve((request, response) => {
    asked.push(request.url)
    response.end(text)
  })
  const connectors = await read(`${url}/connect`)
  expect(asked).toEqual(['/connect/connectors?expand=info&expand=status'])
  const elastic = connectors.find(({name}) => name === 'customers-elastic')
  expect(elastic).toMatchObject({
    type: 'sink',
    state: 'RUNNING',
    tasks: [{id: 0, state: 'RUNNING'}],
    config: {'errors.deadletterqueue.topic.name': 'customers.deadletter', topics: 'customer-profiles'},
  })
  expect(connectors.length).toBeGreaterThan(3)
})

test('user and password go into the header and into no text', async () => {
  let authorization: string | undefined
  const url = await serve((request, response) => {
    authorization = request.headers.authorization
    response.statusCode = 401
    response.end()
  })
  const error = await read(url.replace('//', '//ops:s%40fe@')).catch((reason: unknown) => reason)
  expect(authorization).toBe(`Basic ${Buffer.from('ops:s@fe').toString('base64')}`)
  expect(error).toMatchObject({code: 'E_AUTH', exitCode: 4})
  expect(JSON.stringify([(error as Error).message, error])).not.toContain('s@fe')
})

test.each([
  ['HTML with status 200', 200, '<html>', 'E_KAFKA', /something else than JSON/],
  ['a list', 200, '[]', 'E_KAFKA', /does not answer like Kafka Connect/],
  ['a server error', 500, 'oops', 'E_KAFKA', /answers 500: oops/],
  ['a redirect', 302, '', 'E_KAFKA', /sends on to http:\/\/127\.0\.0\.1:1, which is not followed$/],
])('%s is an error that says so', async (_name, status, body, code, message) => {
  const url = await serve((_request, response) => {
    response.writeHead(status, {location: 'http://127.0.0.1:1/'}).end(body)
  })
  const error = await read(url).catch((reason: unknown) => reason)
  expect(error).toMatchObject({code})
  expect((error as Error).message).toMatch(message)
})

test('a worker that stalls is given up, one that is not there at once', async () => {
  const url = await serve(() => undefined)
  await expect(read(url, 50)).rejects.toMatchObject({
    code: 'E_UNREACHABLE',
    message: expect.stringMatching(/did not answer within 50 ms$/) as string,
  })
  await expect(read('http://127.0.0.1:1')).rejects.toMatchObject({
    code: 'E_UNREACHABLE',
    message: expect.stringMatching(/cannot be reached \(ECONNREFUSED\)$/) as string,
  })
})

test('members of a wrong kind are left out, not believed', async () => {
  const odd = {a: 3, b: {info: {type: 'pet', config: {topics: 7}}, status: {tasks: [{id: 'x'}], connector: null}}}
  const url = await serve((_request, response) => void response.end(JSON.stringify(odd)))
  expect(await read(url)).toEqual([{name: 'b', type: 'unknown', config: {}, state: null, tasks: []}])
})

test.each(['ftp://x', 'localhost:8083', '', 'http://', 'http://ops:100%@connect:8083'])('%j is no address', text => {
  expect(parseConnectAddress(text)).toBeNull()
})
