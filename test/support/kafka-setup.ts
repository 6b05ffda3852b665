import {randomBytes} from 'node:crypto'
import {mkdir, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import type {TestProject} from 'vitest/node'
import {endStaleProcesses} from '../../sandbox/java-process.ts'
import {startKafka} from '../../sandbox/kafka.ts'
import {cacheDir} from '../../sandbox/paths.ts'
import {isSameProcess, startStamp} from '../../sandbox/process-identity.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** `host:port` of the one 4.4.0 broker that the run's integration tests share. */
    readonly bootstrapServers: string
    /** Folder of this run: data and logs of its services; removed at the end. */
    readonly kafkaDir: string
  }
}

const OWNER_FILE = 'owner.json'

/** Starts the broker of project integration and stops it again; a crashed run's folders are removed by the next. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = join(cacheDir, 'integration')
  await mkdir(root, {recursive: true})
  await endStaleProcesses()
  await removeStaleFolders(root)
  const dir = join(root, randomBytes(6).toString('hex'))
  await mkdir(dir)
  await writeFile(join(dir, OWNER_FILE), JSON.stringify({pid: process.pid, stamp: startStamp(process.pid) ?? ''}))
  const kafka = await startKafka({version: '4.4.0', dir: join(dir, 'kafka')})
  project.provide('bootstrapServers', kafka.bootstrapServers)
  project.provide('kafkaDir', dir)
  return async () => {
    await kafka.stop()
    await rm(dir, {recursive: true, force: true})
  }
}

async function removeStaleFolders(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const text = await readFile(join(root, name, OWNER_FILE), 'utf8').catch(() => null)
    if (text === null) continue
    const owner = JSON.parse(text) as {pid: number; stamp: string}
    if (!isSameProcess(owner.pid, owner.stamp)) await rm(join(root, name), {recursive: true, force: true})
  }
}
