import {describe, expect, test} from 'vitest'
import {createRegistryStore, parseRegistryUrls} from '../../../src/lib/serde/index.ts'
import {createRegistryClient, registryRequests} from '../../../src/lib/serde/registry/client.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {startStubRegistry, type StubMood, type StubRegistry} from '../../support/stub-registry.ts'
import {framed, hex, payloads, setUp} from './support.ts'

const POINT = '{"type":"record","name":"Point","fields":[{"name":"x","type":"long"}]}'
const one = payloads(framed(1, hex('02')))
const id = (number: number) => ({kind: 'id', id: number}) as const

function clientOf(urls: readonly string[], timeoutMs = 5000) {
  const requests = registryRequests({authorization: () => null, tls: null, timeoutMs})
  return createRegistryClient(
    requests,
    urls.map(url => new URL(url)),
  )
}

/** No service of ours ever listens there. */
const CLOSED = 'http://127.0.0.1:1'

describe('a registry that does not do what it should', () => {
  const cases: readonly (readonly [mood: StubMood, reason: string, exitCode: number, message: RegExp])[] = [
    ['stall', 'timeout', 5, /did not answer within 50 ms$/],
    ['reset', 'unreachable', 5, /cannot be reached \(ECONNRESET\)$/],
    ['html', 'not-a-registry', 1, /is no schema registry: it answered without JSON$/],
    ['redirect', 'redirected', 1, /sends on to http:\/\/elsewhere\.example, which is not followed$/],
    ['large', 'too-large', 1, /is larger than 4194304 bytes$/],
    [401, 'unauthorized', 4, /wants another name, password or token \(401\)$/],
    [403, 'forbidden', 4, /does not allow to read schema 1 \(403\)$/],
    [404, 'not-a-registry', 1, /has no such path \(404\)/],
    [500, 'server-error', 1, /failed \(500\)$/],
  ]

  test.each(cases)('%s: the reason is %s, exit code %s', async (mood, reason, exitCode, message) => {
    await using stub = await startStubRegistry()
    stub.mood = mood
    await expect(clientOf([stub.url], mood === 'stall' ? 50 : 5000).schema(id(1))).rejects.toMatchObject({
      code: 'E_SCHEMA_REGISTRY',
      reason,
      exitCode,
      message: expect.stringMatching(message) as string,
    })
  })

  test('refused: unreachable, with the code of the socket', async () => {
    await expect(clientOf([CLOSED]).schema(id(1))).rejects.toMatchObject({
      reason: 'unreachable',
      exitCode: 5,
      retriable: true,
      message: expect.stringMatching(/\(ECONNREFUSED\)$/) as string,
    })
  })

  test.each([
    ['{}', 'holds no schema'],
    ['[]', 'holds no schema'],
    ['null', 'holds no schema'],
    ['{"schema":1}', 'holds no schema'],
    ['{"schema":"x","schemaType":"XML"}', 'unknown type "XML"'],
  ])('an answer of %s says so', async (body, message) => {
    await using stub = await startStubRegistry()
    stub.ids.set(1, JSON.parse(body) as never)
    await expect(clientOf([stub.url]).schema(id(1))).rejects.toMatchObject({
      reason: 'not-a-registry',
      message: expect.stringContaining(message) as string,
    })
  })

  test('records are decoded as far as they go, the registry is told of once and left alone for a while', async () => {
    await using stub = await startStubRegistry()
    stub.mood = 500
    const {decoders, clock} = await setUp(stub)
    for (const number of [1, 2, 3]) {
      const {value} = await decoders.decodeFetched(payloads(framed(number, hex('02'))))
      expect(value).toMatchObject({
        format: 'bytes',
        value: null,
        schema: {id: number},
        error: {step: 'registry', reason: 'server-error'},
      })
    }
    expect(stub.requests).toEqual(['/schemas/ids/1'])
    expect(decoders.troubles).toEqual([expect.objectContaining({reason: 'server-error'})])
    stub.mood = 'answer'
    stub.ids.set(1, {schema: POINT})
    await clock.advance(10_000)
    expect((await decoders.decodeFetched(one)).value.value).toEqual({x: 1n})
  })

  test('a schema that may not be read says nothing about the next one', async () => {
    await using stub = await startStubRegistry()
    stub.mood = 403
    const {decoders} = await setUp(stub)
    await decoders.decodeFetched(one)
    stub.mood = 'answer'
    stub.ids.set(2, {schema: POINT})
    expect((await decoders.decodeFetched(payloads(framed(2, hex('02'))))).value.value).toEqual({x: 1n})
  })

  test('an abort ends a wait', async () => {
    await using stub = await startStubRegistry()
    stub.mood = 'stall'
    const stop = new AbortController()
    const {decoders} = await setUp(stub, {signal: stop.signal})
    const waiting = decoders.decodeFetched(one)
    stop.abort(new Error('stopped by SIGINT'))
    await expect(waiting).rejects.toThrow('stopped by SIGINT')
  })
})

describe('what is asked', () => {
  test('one request for an id however many records wait for it, none for what is known', async () => {
    await using stub = await startStubRegistry()
    stub.ids.set(1, {schema: POINT})
    const {decoders} = await setUp(stub)
    await Promise.all(Array.from({length: 50}, async () => decoders.prepare(one)))
    await decoders.prepare(one)
    expect(stub.requests).toEqual(['/schemas/ids/1', '/schemas/ids/1/versions'])
  })

  test('an unknown id is asked for once, and again after a minute', async () => {
    await using stub = await startStubRegistry()
    const {decoders, clock} = await setUp(stub)
    for (let round = 0; round < 3; round++) {
      expect((await decoders.decodeFetched(one)).value.error).toEqual({
        step: 'registry',
        reason: 'not-found',
        message: `the schema registry ${stub.url} does not know schema 1`,
      })
    }
    expect(stub.requests).toEqual(['/schemas/ids/1'])
    expect(decoders.troubles).toEqual([])
    await clock.advance(60_000)
    stub.ids.set(1, {schema: POINT})
    expect((await decoders.decodeFetched(one)).value.value).toEqual({x: 1n})
  })

  test('noise that looks like ids is not asked for without end', async () => {
    const clock = new FakeClock()
    await using stub = await startStubRegistry()
    stub.mood = 403
    const config = {urls: [new URL(stub.url)], authorization: () => null, tls: null, timeoutMs: 5000}
    const store = createRegistryStore(config, {clock})
    const batch = (from: number) =>
      Promise.all(Array.from({length: 500}, async (_, index) => store.load(id(from + index))))
    for (const from of [1, 501, 1001, 1501, 2001]) await batch(from)
    expect(stub.requests).toHaveLength(2000)
    expect(store.known(id(2001))).toMatchObject({kind: 'problem', problem: {reason: 'too-many'}})
  })

  test('the next address when one does not answer, and then that one first', async () => {
    await using stub = await startStubRegistry()
    stub.ids.set(1, {schema: POINT})
    const client = clientOf([CLOSED, stub.url])
    expect(await client.schema(id(1))).toMatchObject({type: 'AVRO', text: POINT})
    await client.versions(1)
    expect(stub.requests).toHaveLength(2)
  })

  test('no next address for an answer: a schema that one does not know, none knows', async () => {
    await using first = await startStubRegistry()
    await using second = await startStubRegistry()
    await expect(clientOf([first.url, second.url]).schema(id(1))).rejects.toMatchObject({reason: 'not-found'})
    expect(second.requests).toEqual([])
  })

  test('the path of an address stays in front, names of subjects are escaped', async () => {
    await using stub = await startStubRegistry()
    const client = clientOf([`${stub.url}/apis/ccompat/v7`])
    await client.schema({kind: 'subject', subject: 'a/b c?', version: '1'}).catch(() => undefined)
    expect(stub.requests).toEqual(['/apis/ccompat/v7/subjects/a%2Fb%20c%3F/versions/1'])
  })
})

describe('references', () => {
  const schemaWith = (stub: StubRegistry, subject: string, schema: string, references: readonly string[]): void => {
    const list = references.map(name => ({name, subject: name, version: 1}))
    stub.versions.set(`${subject}/1`, {schema, references: list, id: 100})
  }

  test('are fetched once each, those that others need first', async () => {
    await using stub = await startStubRegistry()
    const record = (name: string, ...types: string[]) =>
      JSON.stringify({type: 'record', name, fields: types.map((type, index) => ({name: `f${index}`, type}))})
    schemaWith(stub, 'A', record('A', 'long'), [])
    schemaWith(stub, 'B', record('B', 'A'), ['A'])
    stub.ids.set(1, {
      schema: record('C', 'A', 'B'),
      references: ['B', 'A'].map(name => ({name, subject: name, version: 1})),
    })
    const {decoders} = await setUp(stub)
    expect((await decoders.decodeFetched(payloads(framed(1, hex('0204'))))).value.value).toEqual({
      f0: {f0: 1n},
      f1: {f0: {f0: 2n}},
    })
    expect(stub.requests.filter(path => path.startsWith('/subjects')).toSorted()).toEqual([
      '/subjects/A/versions/1',
      '/subjects/B/versions/1',
    ])
  })

  test.each([
    ['in a circle', 'references go in a circle'],
    ['without an end', 'references are nested deeper than 20'],
  ])('%s are a problem of the schema', async (what, message) => {
    await using stub = await startStubRegistry()
    const next = (index: number): string => (what === 'in a circle' ? `s${(index + 1) % 3}` : `s${index + 1}`)
    for (let index = 0; index < 30; index++) schemaWith(stub, `s${index}`, '"string"', [next(index)])
    stub.ids.set(1, {schema: '"string"', references: [{name: 's0', subject: 's0', version: 1}]})
    const {decoders} = await setUp(stub)
    expect((await decoders.decodeFetched(one)).value.error).toMatchObject({
      step: 'schema',
      message: expect.stringContaining(message) as string,
    })
  })

  test('one that is missing is told by its name', async () => {
    await using stub = await startStubRegistry()
    stub.ids.set(1, {schema: '"string"', references: [{name: 'x', subject: 'gone', version: 3}]})
    const {decoders} = await setUp(stub)
    expect((await decoders.decodeFetched(one)).value.error?.message).toContain('does not know subject gone version 3')
  })
})

describe('addresses', () => {
  test('several, without slashes at their end', () => {
    expect(parseRegistryUrls(['http://a:8081/, https://b/x//'], '--schema-registry').map(String)).toEqual([
      'http://a:8081/',
      'https://b/x',
    ])
  })

  test.each([
    ['', 'is empty'],
    ['localhost:8081', "'localhost:8081' is not http or https"],
    ['//a', "'//a' is no address"],
    ['http://a/?x=1', "'http://a/' is followed by ? or #"],
    ['http://user:secret@a', 'a name or password has no place in the address'],
    ['ftp://user:secret@a', 'is not http or https'],
  ])('%s is wrong use, without the secret in the message', (text, message) => {
    const parse = (): unknown => parseRegistryUrls([text], '--schema-registry')
    expect(parse).toThrow(
      expect.objectContaining({exitCode: 2, message: expect.stringContaining(message) as string}) as Error,
    )
    expect(parse).not.toThrow(/secret/)
  })
})
