import {afterEach, describe, expect, test, vi} from 'vitest'
import {createKafkaTransport, type TransportDeps} from '../../../../src/lib/kafka/client/kafkajs-transport.ts'
import {parseBootstrapServers, PLAINTEXT, type ConnectionConfig} from '../../../../src/lib/kafka/client/security.ts'
import {TransportError} from '../../../../src/lib/kafka/client/transport-error.ts'
import {describeClusterApi} from '../../../../src/lib/kafka/protocol/generated/describe-cluster.ts'
import {fetchApi, writeFetchResponse} from '../../../../src/lib/kafka/protocol/generated/fetch.ts'
import {writeFindCoordinatorResponse} from '../../../../src/lib/kafka/protocol/generated/find-coordinator.ts'
import {metadataApi} from '../../../../src/lib/kafka/protocol/generated/metadata.ts'
import {ProtocolFormatError, WireWriter} from '../../../../src/lib/kafka/protocol/wire.ts'
import type {Transport} from '../../../../src/lib/kafka/transport.ts'
import {API_VERSIONS, FakeBroker, framed, METADATA, metadata, type FakeRequest} from '../../../support/fake-broker.ts'
import {FakeClock} from '../../../support/fake-clock.ts'

const FIND_COORDINATOR = 10
const FETCH = 1

afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]()
})

const opened: AsyncDisposable[] = []

async function broker(
  answer: ((request: FakeRequest, self: FakeBroker) => Buffer | null) | null = null,
): Promise<FakeBroker> {
  const made = await FakeBroker.start()
  if (answer !== null) made.answer = request => answer(request, made)
  opened.push(made)
  return made
}

function transport(servers: string, deps: TransportDeps = {}, config: Partial<ConnectionConfig> = {}): Transport {
  const made = createKafkaTransport(
    {
      ...PLAINTEXT,
      bootstrapServers: parseBootstrapServers(servers),
      clientId: 'test',
      timeoutMs: 5000,
      requestTimeoutMs: 30_000,
      ...config,
    },
    {clock: new FakeClock(), ...deps},
  )
  opened.push(made)
  return made
}

async function connected(fake: FakeBroker, deps: TransportDeps = {}): Promise<Transport> {
  const made = transport(fake.address, deps)
  await made.connect()
  return made
}

async function failure(work: Promise<unknown>): Promise<TransportError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(TransportError)
  return error as TransportError
}

const anyMetadata = {topics: [], allowAutoTopicCreation: false}
const fetchRequest = {maxWaitMs: 1, minBytes: 1, topics: []}

describe('connecting', () => {
  test('learns nodes, controller, versions and finalized features', async () => {
    const fake = await broker()
    const made = await connected(fake)
    expect(made.nodes()).toEqual([{id: 1, host: '127.0.0.1', port: fake.port, rack: null}])
    expect(made.controller()).toBe(1)
    expect(made.features).toEqual(new Map([['transaction.version', 2]]))
    expect(made.supports(1, FETCH)).toEqual({min: 4, max: 12})
    expect(made.supports(1, 61)).toBeNull()
    expect(fake.accepted).toBe(1)
  })

  test('tries each server once and keeps every cause, the most telling one first', async () => {
    const http = await broker()
    http.answer = ({socket}) => {
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
      return null
    }
    const error = await failure(transport(`127.0.0.1:1,${http.address},127.0.0.1:2`).connect())
    expect(error).toMatchObject({kind: 'config', address: http.address})
    expect(error.message).toContain('an HTTP server answered')
    expect(error.context['causes']).toHaveLength(3)
    expect((error.cause as AggregateError).errors).toHaveLength(3)
    expect(http.accepted).toBe(1)
  })

  test('leaves the other servers alone when the first one answers', async () => {
    const [first, second] = [await broker(), await broker()]
    await transport(`${first.address},${second.address}`).connect()
    expect(second.accepted).toBe(0)
  })

  test('does not wait for a dead server when the next one lives', async () => {
    const silent = await broker(() => null)
    const alive = await broker()
    const clock = new FakeClock()
    const made = transport(`${silent.address},${alive.address}`, {clock})
    const work = made.connect()
    await vi.waitFor(() => expect(silent.requests).toHaveLength(1))
    await clock.advance(500)
    await work
    expect(made.nodes()).toHaveLength(1)
    await vi.waitFor(() => expect(silent.sockets.size).toBe(0))
  })

  test('a server that accepts and never answers is a timeout after the limit', async () => {
    const silent = await broker(() => null)
    const clock = new FakeClock()
    const work = failure(transport(silent.address, {clock}).connect())
    await vi.waitFor(() => expect(silent.requests).toHaveLength(1))
    await clock.advance(5000)
    expect(await work).toMatchObject({kind: 'timeout', exitCode: 5, retriable: true})
    await vi.waitFor(() => expect(silent.sockets.size).toBe(0))
  })

  test('a server that closes at the first request probably wants TLS', async () => {
    const closing = await broker(({socket}) => {
      socket.end()
      return null
    })
    const error = await failure(transport(closing.address).connect())
    expect(error).toMatchObject({kind: 'closed'})
    expect(error.hint).toContain('wants TLS')
  })

  test('a server that closes after ApiVersions probably wants SASL', async () => {
    const closing = await broker((request, self) => {
      if (self.requests.length === 1) return self.usual(request)
      request.socket.end()
      return null
    })
    const error = await failure(transport(closing.address).connect())
    expect(error).toMatchObject({kind: 'auth', exitCode: 4})
    expect(error.hint).toContain('wants SASL')
  })

  test.each([
    ['a TLS alert', Buffer.from('150303000202', 'hex'), 'tls'],
    ['a negative length', Buffer.from('fffffff800000000', 'hex'), 'config'],
    ['a length of two gigabytes', Buffer.from('7fffffff00000000', 'hex'), 'config'],
    ['a length below the correlation id', Buffer.from('0000000300000000', 'hex'), 'config'],
  ])('%s instead of an answer is told as what it is', async (_name, bytes, kind) => {
    const odd = await broker(({socket}) => {
      socket.write(bytes)
      return null
    })
    expect(await failure(transport(odd.address).connect())).toMatchObject({kind})
  })

  test('a cluster that refuses metadata is no connection: the error is told and no socket is left', async () => {
    const fake = await broker((request, self) => (request.api === METADATA ? null : self.usual(request)))
    const clock = new FakeClock()
    const work = failure(transport(fake.address, {clock}).connect())
    await vi.waitFor(() => expect(fake.of(METADATA)).toHaveLength(1))
    await clock.advance(5000)
    expect(await work).toMatchObject({kind: 'timeout', context: {api: 'Metadata'}})
    await vi.waitFor(() => expect(fake.sockets.size).toBe(0))
  })

  test('connecting twice keeps one connection', async () => {
    const fake = await broker()
    const made = await connected(fake)
    await made.connect()
    await vi.waitFor(() => expect(fake.sockets.size).toBe(1))
    expect((await made.send(1, metadataApi, anyMetadata)).body.controllerId).toBe(1)
  })

  test('ends with the reason of an abort, and leaves no socket', async () => {
    const silent = await broker(() => null)
    const stop = new AbortController()
    const work = transport(silent.address).connect({signal: stop.signal})
    await vi.waitFor(() => expect(silent.requests).toHaveLength(1))
    stop.abort(new Error('enough'))
    await expect(work).rejects.toThrow('enough')
    await vi.waitFor(() => expect(silent.sockets.size).toBe(0))
  })

  test('ends when the transport is closed meanwhile', async () => {
    const silent = await broker(() => null)
    const made = transport(silent.address)
    const work = failure(made.connect())
    await vi.waitFor(() => expect(silent.requests).toHaveLength(1))
    await made.close()
    expect(await work).toMatchObject({kind: 'closed'})
    await vi.waitFor(() => expect(silent.sockets.size).toBe(0))
  })
})

describe('sending', () => {
  test('requests that start together on a dropped connection share one socket', async () => {
    const fake = await broker()
    const made = await connected(fake)
    const warnings: Error[] = []
    const note = (warning: Error): number => warnings.push(warning)
    process.on('warning', note)
    made.invalidate(1)
    const answers = await Promise.all(Array.from({length: 50}, () => made.send(1, metadataApi, anyMetadata)))
    process.off('warning', note)
    expect(answers.map(({body}) => body.controllerId)).toEqual(Array.from({length: 50}, () => 1))
    expect(fake.accepted).toBe(2)
    expect(warnings).toEqual([])
  })

  test('Fetch requests that start together share a second socket', async () => {
    const fake = await broker()
    const made = await connected(fake)
    const work = Array.from({length: 20}, () => failure(made.send(1, fetchApi, fetchRequest)))
    await vi.waitFor(() => expect(fake.of(FETCH)).toHaveLength(20))
    expect(fake.accepted).toBe(2)
    await made.close()
    expect(await Promise.all(work)).toHaveLength(20)
  })

  test('a version is the highest that both sides and the cap allow', async () => {
    const fake = await broker()
    const made = await connected(fake)
    expect((await made.send(1, metadataApi, anyMetadata)).version).toBe(12)
    expect((await made.send(1, metadataApi, anyMetadata, {maxVersion: 8})).version).toBe(8)
  })

  test('an API that the broker lacks, or has only in other versions, is unsupported and costs no connection', async () => {
    const fake = await broker()
    const made = await connected(fake)
    expect(await failure(made.send(1, describeClusterApi, {includeClusterAuthorizedOperations: false}))).toMatchObject({
      kind: 'unsupported',
      exitCode: 1,
      retriable: false,
    })
    expect(await failure(made.send(1, fetchApi, fetchRequest, {maxVersion: 3}))).toMatchObject({kind: 'unsupported'})
    await made.send(1, metadataApi, anyMetadata)
    expect(fake.accepted).toBe(1)
  })

  test('a limit below the default ends the wait; the late answer disturbs nothing', async () => {
    const fake = await broker()
    const clock = new FakeClock()
    const made = await connected(fake, {clock})
    const held: FakeRequest[] = []
    fake.answer = request => {
      if (request.api !== METADATA) return fake.usual(request)
      held.push(request)
      return null
    }
    const work = failure(made.send(1, metadataApi, anyMetadata, {timeoutMs: 50}))
    await vi.waitFor(() => expect(held).toHaveLength(1))
    await clock.advance(50)
    expect(await work).toMatchObject({kind: 'timeout', context: {api: 'Metadata', timeoutMs: 50}})
    const [late] = held
    late?.socket.write(framed(late.correlationId, metadata(late.version, 1)))
    fake.answer = request => fake.usual(request)
    expect((await made.send(1, metadataApi, anyMetadata)).body.brokers[0]?.port).toBe(fake.port)
    expect(fake.accepted).toBe(2)
  })

  test('a limit covers the connect too, and does not spoil it for others', async () => {
    const fake = await broker()
    const clock = new FakeClock()
    const made = await connected(fake, {clock})
    made.invalidate(1)
    const held: FakeRequest[] = []
    fake.answer = request => {
      held.push(request)
      return null
    }
    const impatient = failure(made.send(1, metadataApi, anyMetadata, {timeoutMs: 50}))
    const patient = made.send(1, metadataApi, anyMetadata)
    await vi.waitFor(() => expect(held).toHaveLength(1))
    await clock.advance(50)
    expect(await impatient).toMatchObject({kind: 'timeout'})
    fake.answer = request => fake.usual(request)
    for (const request of held)
      request.socket.write(framed(request.correlationId, fake.usual(request) ?? Buffer.alloc(0)))
    expect((await patient).body.clusterId).toBe('fake')
    expect(fake.accepted).toBe(2)
  })

  test('an abort ends the wait and keeps the connection', async () => {
    const fake = await broker()
    const made = await connected(fake)
    const stop = new AbortController()
    fake.answer = () => null
    const work = made.send(1, metadataApi, anyMetadata, {signal: stop.signal})
    await vi.waitFor(() => expect(fake.of(METADATA)).toHaveLength(2))
    stop.abort(new Error('enough'))
    await expect(work).rejects.toThrow('enough')
    fake.answer = request => fake.usual(request)
    await made.send(1, metadataApi, anyMetadata)
    expect(fake.accepted).toBe(1)
  })

  test('half an answer before a close is not read as the beginning of the next one', async () => {
    const fake = await broker()
    const made = await connected(fake)
    fake.answer = request => {
      if (request.api !== METADATA) return fake.usual(request)
      const whole = framed(request.correlationId, metadata(request.version, fake.port))
      request.socket.end(whole.subarray(0, whole.length - 7))
      return null
    }
    expect(await failure(made.send(1, metadataApi, anyMetadata))).toMatchObject({kind: 'closed', retriable: true})
    fake.answer = request => fake.usual(request)
    expect((await made.send(1, metadataApi, anyMetadata)).body.clusterId).toBe('fake')
  })

  test('answers in many pieces, and several in one piece, reach their requests', async () => {
    const fake = await broker()
    const made = await connected(fake)
    const held: FakeRequest[] = []
    fake.answer = request => {
      held.push(request)
      if (held.length < 3) return null
      const all = Buffer.concat(
        held.map(each => framed(each.correlationId, metadata(each.version, each.correlationId))),
      )
      for (const byte of all.subarray(0, 100)) request.socket.write(Buffer.of(byte))
      request.socket.write(all.subarray(100))
      return null
    }
    const answers = await Promise.all([1, 2, 3].map(() => made.send(1, metadataApi, anyMetadata)))
    expect(answers.map(({body}) => body.brokers[0]?.port)).toEqual(held.map(({correlationId}) => correlationId))
  })

  test('an answer that cannot be read is a format error, and its connection is given up', async () => {
    const fake = await broker()
    const made = await connected(fake)
    fake.answer = request => (request.api === METADATA ? Buffer.from('00ffffffff0f', 'hex') : fake.usual(request))
    await expect(made.send(1, metadataApi, anyMetadata)).rejects.toThrow(ProtocolFormatError)
    fake.answer = request => fake.usual(request)
    await made.send(1, metadataApi, anyMetadata)
    expect(fake.accepted).toBe(2)
  })

  test('unknown tags in the header of an answer are skipped', async () => {
    const fake = await broker()
    const made = await connected(fake)
    const tags = Buffer.from('0107020aff', 'hex')
    fake.answer = request => Buffer.concat([tags, metadata(request.version, fake.port).subarray(1)])
    expect((await made.send(1, metadataApi, anyMetadata)).body.clusterId).toBe('fake')
  })

  test('waits as long as the broker asks for before the next request, and reports it (KIP-219)', async () => {
    const fake = await broker()
    const clock = new FakeClock()
    const debug: string[] = []
    const made = await connected(fake, {clock, debug: line => debug.push(line)})
    fake.answer = request => metadata(request.version, fake.port, 2000)
    expect((await made.send(1, metadataApi, anyMetadata)).throttleMs).toBe(2000)
    expect(debug).toContain(`${fake.address} throttles Metadata for 2000 ms`)
    const before = fake.of(METADATA).length
    const work = made.send(1, metadataApi, anyMetadata, {timeoutMs: 100})
    await clock.advance(1999)
    expect(fake.of(METADATA)).toHaveLength(before)
    await clock.advance(1)
    await work
    expect(fake.of(METADATA)).toHaveLength(before + 1)
  })

  test('a request behind one that was throttled has its time from the end of the silence on (KIP-219)', async () => {
    const fake = await broker()
    const clock = new FakeClock()
    const made = await connected(fake, {clock})
    const held: FakeRequest[] = []
    fake.answer = request => {
      if (request.api !== FETCH) return fake.usual(request)
      held.push(request)
      return null
    }
    const reply = (request: FakeRequest | undefined, throttleTimeMs: number): void => {
      request?.socket.write(framed(request.correlationId, throttled(request.version, throttleTimeMs)))
    }
    const first = made.send(1, fetchApi, fetchRequest, {timeoutMs: 1000})
    const second = made.send(1, fetchApi, fetchRequest, {timeoutMs: 1000})
    const third = failure(made.send(1, fetchApi, fetchRequest, {timeoutMs: 1000}))
    await vi.waitFor(() => expect(held).toHaveLength(3))
    reply(held[0], 60_000)
    expect((await first).throttleMs).toBe(60_000)
    await clock.advance(60_500)
    reply(held[1], 0)
    expect((await second).throttleMs).toBe(0)
    await clock.advance(500)
    expect(await third).toMatchObject({kind: 'timeout'})
    expect(fake.accepted).toBe(2)
  })

  test('a wait that the broker asked for ends with an abort, and with close', async () => {
    const fake = await broker()
    const made = await connected(fake)
    fake.answer = request => metadata(request.version, fake.port, 60_000)
    await made.send(1, metadataApi, anyMetadata)
    const stop = new AbortController()
    const aborted = made.send(1, metadataApi, anyMetadata, {signal: stop.signal})
    const closed = failure(made.send(1, metadataApi, anyMetadata))
    stop.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await made.close()
    expect(await closed).toMatchObject({kind: 'closed'})
  })

  test('a broker that closed an idle connection gets a new one without an error', async () => {
    const fake = await broker()
    const made = await connected(fake)
    for (const socket of fake.sockets) socket.end()
    await vi.waitFor(() => expect(fake.sockets.size).toBe(0))
    await made.send(1, metadataApi, anyMetadata)
    expect(fake.accepted).toBe(2)
  })

  test('a broker that dies right after a reconnect was lost: it does not look like one that wants SASL', async () => {
    const fake = await broker()
    const made = await connected(fake)
    made.invalidate(1)
    const before = fake.requests.length
    fake.answer = request => {
      if (fake.requests.length === before + 1) return fake.usual(request)
      request.socket.end()
      return null
    }
    expect(await failure(made.send(1, metadataApi, anyMetadata))).toMatchObject({kind: 'closed', retriable: true})
  })

  test('to any broker goes on to the next one when a connection fails', async () => {
    const fake = await broker()
    const made = transport(`${fake.address},127.0.0.1:1`)
    await made.connect()
    fake.answer = request => (request.api === API_VERSIONS ? fake.usual(request) : metadata(request.version, 1))
    // From here on the cluster's only broker is said to be on port 1, where nobody listens.
    await made.metadata([])
    made.invalidate(1)
    expect((await made.send('any', metadataApi, anyMetadata)).body.clusterId).toBe('fake')
    expect(await failure(made.send(1, metadataApi, anyMetadata))).toMatchObject({
      kind: 'refused',
      address: '127.0.0.1:1',
    })
  })

  test('a broker id that is not known is looked up, and told when the cluster has none', async () => {
    const fake = await broker()
    const made = await connected(fake)
    const before = fake.of(METADATA).length
    expect((await failure(made.send(7, metadataApi, anyMetadata))).message).toContain(
      'broker 7 is not part of the cluster',
    )
    expect(fake.of(METADATA)).toHaveLength(before + 1)
  })

  test('after close nothing opens a connection again', async () => {
    const fake = await broker()
    const made = await connected(fake)
    await made.close()
    await made.close()
    expect(await failure(made.send(1, metadataApi, anyMetadata))).toMatchObject({kind: 'closed'})
    await vi.waitFor(() => expect(fake.sockets.size).toBe(0))
    expect(fake.accepted).toBe(1)
  })
})

/** An answer to Fetch of a broker that throttles: nothing but the time. */
function throttled(version: number, throttleTimeMs: number): Buffer {
  const w = new WireWriter(version >= 12)
  if (version >= 12) w.tags()
  const body = {throttleTimeMs, errorCode: 0, sessionId: 0, responses: [], nodeEndpoints: []}
  writeFetchResponse(w, body, version)
  return Buffer.from(w.finish())
}

describe('finding a coordinator', () => {
  function answer(version: number, errorCode: number, port = 0): Buffer {
    const w = new WireWriter(version >= 3)
    if (version >= 3) w.tags()
    const one = {key: 'g', nodeId: 9, host: '127.0.0.1', port, errorCode, errorMessage: null}
    const old = {errorCode: 0, nodeId: 0, host: '', port: 0, errorMessage: ''}
    writeFindCoordinatorResponse(w, {throttleTimeMs: 0, ...old, coordinators: [one]}, version)
    return Buffer.from(w.finish())
  }

  test('asks again, with growing waits, while it is not available, and can be sent to', async () => {
    const fake = await broker()
    const clock = new FakeClock({auto: true})
    const codes = [15, 14, 0]
    fake.answer = request =>
      request.api === FIND_COORDINATOR ? answer(request.version, codes.shift() ?? 0, fake.port) : fake.usual(request)
    const made = await connected(fake, {clock: pausable(clock)})
    expect(await made.coordinator('group', 'g')).toBe(9)
    expect(clock.sleeps.filter(ms => ms < 500)).toEqual([50, 100])
    expect((await made.send(9, metadataApi, anyMetadata)).body.clusterId).toBe('fake')
  })

  test('a missing right names the group', async () => {
    const fake = await broker()
    const made = await connected(fake)
    fake.answer = request => (request.api === FIND_COORDINATOR ? answer(request.version, 30) : fake.usual(request))
    await expect(made.coordinator('group', 'g')).rejects.toMatchObject({
      name: 'AuthError',
      exitCode: 4,
      message: 'not authorized: GROUP_AUTHORIZATION_FAILED in FindCoordinator for group g',
    })
  })
})

/** Only short waits (back-off) pass by themselves; limits never come. */
function pausable(clock: FakeClock): FakeClock {
  const never = new FakeClock()
  return Object.assign(Object.create(clock) as FakeClock, {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms: number, options?: {signal?: AbortSignal}) =>
      ms < 500 ? clock.sleep(ms, options) : never.sleep(ms, options),
  })
}
