import {afterEach, describe, expect, test, vi} from 'vitest'
import {describeClusterApi} from '../../../../src/lib/kafka/protocol/generated/describe-cluster.ts'
import {fetchApi, writeFetchResponse} from '../../../../src/lib/kafka/protocol/generated/fetch.ts'
import {metadataApi} from '../../../../src/lib/kafka/protocol/generated/metadata.ts'
import {ProtocolFormatError, WireWriter} from '../../../../src/lib/kafka/protocol/wire.ts'
import {API_VERSIONS, METADATA, framed, metadata} from '../../../support/fake-broker.ts'
import type {FakeRequest} from '../../../support/fake-broker.ts'
import {FakeClock} from '../../../support/fake-clock.ts'
import {
  FETCH,
  anyMetadata,
  broker,
  closeOpened,
  connected,
  failure,
  fetchRequest,
  transport,
} from './transport-support.ts'

afterEach(closeOpened)

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
