import {connect} from 'node:net'
import {afterEach, expect, test, vi} from 'vitest'
import {createGuardedPool} from '../../../../src/lib/kafka/client/guards.ts'
import {createKafkajsLogger, loadKafkajs} from '../../../../src/lib/kafka/client/kafkajs-load.ts'
import {API_VERSIONS, FakeBroker, framed, apiVersions} from '../../../support/fake-broker.ts'

const opened: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]()
})

async function guarded(fake: FakeBroker) {
  const kafkajs = await loadKafkajs()
  opened.push(fake)
  const {pool, connections} = createGuardedPool(kafkajs, {
    host: '127.0.0.1',
    port: fake.port,
    rack: null,
    logger: createKafkajsLogger(kafkajs, null),
    socketFactory: ({host, port, onConnect}) => connect({host, port}, onConnect),
    ssl: null,
    sasl: null,
    clientId: 'guards',
    connectionTimeout: 60_000,
    requestTimeout: 60_000,
    enforceRequestTimeout: false,
    maxInFlightRequests: null,
    reauthenticationThreshold: 10_000,
  })
  const send = (): Promise<unknown> =>
    pool.send({
      request: {
        apiKey: API_VERSIONS,
        apiVersion: 0,
        apiName: 'ApiVersions',
        encode: async () => new kafkajs.Encoder(1),
      },
      response: {decode: async bytes => bytes, parse: async bytes => bytes},
      logResponseError: false,
    })
  return {pool, connections, send}
}

test('no timer is armed while nothing waits', async () => {
  const {pool, send} = await guarded(await FakeBroker.start())
  await send()
  const [main] = pool.pool
  expect(Reflect.get(main?.requestQueue ?? {}, 'throttleCheckTimeoutId')).toBeNull()
  expect(Reflect.get(main?.requestQueue ?? {}, 'requestTimeoutIntervalId')).toBeUndefined()
})

test('a session shorter than the threshold does not authenticate again at every request', async () => {
  const {pool} = await guarded(await FakeBroker.start())
  const [main] = pool.pool
  if (main === undefined) throw new Error('a pool has two connections')
  main.sessionLifetime = 8000
  expect(main.reauthenticationThreshold).toBe(1600)
  main.sessionLifetime = 3_600_000
  expect(main.reauthenticationThreshold).toBe(10_000)
  expect(main.sessionLifetime).toBe(3_600_000)
})

test('closing hard rejects what is in flight and what comes later, at once', async () => {
  const fake = await FakeBroker.start(() => null)
  const {pool, connections, send} = await guarded(fake)
  const work = send()
  work.catch(() => null)
  await vi.waitFor(() => expect(fake.requests).toHaveLength(1))
  connections[0]?.closeHard(new Error('given up'))
  await expect(work).rejects.toThrow('given up')
  await expect(send()).rejects.toThrow('given up')
  expect(pool.pool[0]?.isConnected()).toBe(false)
  expect(connections[0]?.closed).toBe(true)
  expect(connections[1]?.closed).toBe(false)
})

test('closing hard during a connect ends it without waiting for its timer', async () => {
  const {pool, connections} = await guarded(await FakeBroker.start(() => null))
  const work = pool.pool[0]?.connect()
  connections[0]?.closeHard(new Error('given up'))
  await expect(work).rejects.toThrow('given up')
})

test('an answer nobody asked for is dropped, the next one is taken', async () => {
  const fake = await FakeBroker.start(({socket, correlationId, version}) => {
    socket.write(framed(correlationId + 1000, Buffer.from('stray')))
    return apiVersions(version)
  })
  const {send} = await guarded(fake)
  expect(await send()).toEqual(apiVersions(0))
})

test('an answer is a view of what came from the socket, not a copy of it', async () => {
  const {pool, send} = await guarded(await FakeBroker.start())
  const [main] = pool.pool
  const seen: ArrayBufferLike[] = []
  const original = main?.processData.bind(main)
  if (main !== undefined) {
    main.processData = data => {
      seen.push(data.buffer)
      original?.(data)
    }
  }
  const answer = (await send()) as Buffer
  expect(seen).toContain(answer.buffer)
})
