import {afterEach, describe, expect, test, vi} from 'vitest'
import {writeFindCoordinatorResponse} from '../../../../src/lib/kafka/protocol/generated/find-coordinator.ts'
import {metadataApi} from '../../../../src/lib/kafka/protocol/generated/metadata.ts'
import {WireWriter} from '../../../../src/lib/kafka/protocol/wire.ts'
import {METADATA} from '../../../support/fake-broker.ts'
import {FakeClock} from '../../../support/fake-clock.ts'
import {
  FETCH,
  FIND_COORDINATOR,
  anyMetadata,
  broker,
  closeOpened,
  connected,
  failure,
  pausable,
  transport,
} from './transport-support.ts'

afterEach(closeOpened)

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
