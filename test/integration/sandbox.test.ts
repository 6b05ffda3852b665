import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {readFileSync} from 'node:fs'
import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import {connect as connectTls} from 'node:tls'
import {fileURLToPath} from 'node:url'
import {describe, expect, inject, test} from 'vitest'
import {ensureLibs} from '../../sandbox/libs.ts'
import {startKafka} from '../../sandbox/kafka.ts'
import {endStaleProcesses} from '../../sandbox/java-process.ts'
import {SandboxError} from '../../sandbox/paths.ts'
import {countBrokers} from '../../sandbox/probe.ts'
import {isSameProcess, startStamp} from '../../sandbox/process-identity.ts'
import {createTestAuthority} from '../../sandbox/tls.ts'
import {eventually, unique} from '../support/sandbox.ts'

const kafkaDir = inject('kafkaDir')

/** A process that started a broker and was then killed without a chance to clean up. @returns the broker's id and start time */
async function orphan(mode: 'run' | 'suspend'): Promise<{pid: number; stamp: string}> {
  const script = fileURLToPath(new URL('../support/sandbox-orphan.ts', import.meta.url))
  const child = spawn(process.execPath, [script, join(kafkaDir, unique('orphan')), mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  const pid = Number(output.trim())
  const stamp = startStamp(pid) ?? ''
  child.kill('SIGKILL')
  await once(child, 'exit')
  return {pid, stamp}
}

async function waitForEnd({pid, stamp}: {pid: number; stamp: string}): Promise<void> {
  await eventually(`process ${pid} ended`, async () => (isSameProcess(pid, stamp) ? null : true))
}

describe('what a crashed run leaves behind', () => {
  test('a broker ends with the process that started it', async () => {
    const broker = await orphan('run')
    expect(broker.stamp).not.toBe('')
    await waitForEnd(broker)
  })

  test('a suspended broker, which cannot notice, is ended by the next run', async () => {
    const broker = await orphan('suspend')
    expect(isSameProcess(broker.pid, broker.stamp)).toBe(true)
    await endStaleProcesses()
    await waitForEnd(broker)
  })
})

test('two brokers know each other, answer again after a restart, and one that is suspended stays silent', async () => {
  await using kafka = await startKafka({version: '4.4.0', dir: join(kafkaDir, unique('two')), brokers: 2})
  const ports = kafka.brokers.map(({port}) => port)
  const counts = (): Promise<number[]> => Promise.all(ports.map(port => countBrokers(port)))
  expect(await counts()).toEqual([2, 2])
  await kafka.restart()
  expect(await counts()).toEqual([2, 2])
  kafka.brokers[1]?.suspend()
  expect(await countBrokers(ports[1] ?? 0)).toBe(0)
  kafka.brokers[1]?.resume()
  await eventually('the resumed broker answers', async () => ((await countBrokers(ports[1] ?? 0)) > 0 ? true : null))
})

test('a broker that does not come up is reported with the end of its log', async () => {
  const dir = join(kafkaDir, unique('broken'))
  await mkdir(dir)
  const start = startKafka({version: '4.4.0', dir, configs: {'log.segment.bytes': 'many'}})
  await expect(start).rejects.toThrow(SandboxError)
  await expect(start).rejects.toThrow(/broker 1 ended while it was starting[^]*log\.segment\.bytes/)
})

test('listeners offer a right, a foreign and an expired certificate, and one asks for the client’s', async () => {
  const dir = join(kafkaDir, unique('tls'))
  const {server, wrongHost, expired, client, caFile} = await createTestAuthority(await ensureLibs('4.4.0'), dir)
  await using kafka = await startKafka({
    version: '4.4.0',
    dir,
    extraListeners: {
      RIGHT: {protocol: 'SSL', tls: server},
      WRONG: {protocol: 'SSL', tls: wrongHost},
      EXPIRED: {protocol: 'SSL', tls: expired},
      MUTUAL: {protocol: 'SSL', tls: {...server, clientCa: caFile}},
    },
  })
  const handshake = async (listener: string): Promise<string> => {
    const port = Number(kafka.listeners[listener]?.split(':')[1])
    const own = {cert: readFileSync(client.certFile), key: readFileSync(client.keyFile)}
    const {promise, resolve} = Promise.withResolvers<string>()
    const socket = connectTls({host: '127.0.0.1', port, ca: readFileSync(caFile), ...own}, () => resolve('trusted'))
    socket.once('error', error => resolve('code' in error ? String(error.code) : error.message))
    return promise.finally(() => socket.destroy())
  }
  expect(await handshake('RIGHT')).toBe('trusted')
  expect(await handshake('WRONG')).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  expect(await handshake('EXPIRED')).toBe('CERT_HAS_EXPIRED')
  expect(await handshake('MUTUAL')).toBe('trusted')
})
