import {execFile} from 'node:child_process'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {promisify} from 'node:util'
import {afterEach, expect, test} from 'vitest'
import {FakeBroker} from '../support/fake-broker.ts'

const run = promisify(execFile)
const source = pathToFileURL(join(import.meta.dirname, '../../src/lib/kafka/client/kafkajs-transport.ts')).href
const opened: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]()
})

/** A whole process that uses a transport with a limit of a minute; it has to end long before that, by itself. */
async function child(fake: FakeBroker, body: string): Promise<{stdout: string; stderr: string}> {
  opened.push(fake)
  const script = `
    import {createKafkaTransport} from '${source}'
    const make = (options = {}) => createKafkaTransport({tls: null, sasl: null, clientId: 'child', timeoutMs: 60_000, requestTimeoutMs: 60_000,
      bootstrapServers: [{host: '127.0.0.1', port: ${fake.port}}], ...options})
    ${body}`
  const env = {...process.env, NODE_ENV: 'test', KAFKAJS_LOG_LEVEL: 'debug', NODE_NO_WARNINGS: '', NODE_OPTIONS: ''}
  return run(process.execPath, ['--input-type=module', '-e', script], {env, timeout: 15_000})
}

test('a process ends after close and prints no line of kafkajs, whatever the environment asks for', async () => {
  const body = `
    const transport = make()
    await transport.connect()
    await transport.metadata(null)
    await transport.close()
    console.log('closed')`
  expect(await child(await FakeBroker.start(), body)).toEqual({stdout: 'closed\n', stderr: ''})
})

test('a process ends when it closes while it connects to a broker that never answers', async () => {
  const body = `
    const transport = make()
    const work = transport.connect().catch(error => console.log(error.kind))
    setTimeout(() => transport.close(), 200)
    await work`
  expect(await child(await FakeBroker.start(() => null), body)).toEqual({stdout: 'closed\n', stderr: ''})
})

test('a process ends after a failed connect although nobody closes', async () => {
  const fake = await FakeBroker.start(({socket}) => {
    socket.end()
    return null
  })
  const body = `await make().connect().catch(error => console.log(error.kind, error.hints.length))`
  expect(await child(fake, body)).toEqual({stdout: 'closed 1\n', stderr: ''})
})

test('a process that is connected and idle arms no timer', async () => {
  const body = `
    const transport = make()
    await transport.connect()
    await transport.metadata([])
    const setTimer = setTimeout
    let timers = 0
    globalThis.setTimeout = (...args) => (timers++, setTimer(...args))
    await new Promise(resolve => setTimer(resolve, 100))
    console.log('timers', timers)
    await transport.close()`
  expect(await child(await FakeBroker.start(), body)).toEqual({stdout: 'timers 0\n', stderr: ''})
})
