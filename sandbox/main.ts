#!/usr/bin/env node
import {rm} from 'node:fs/promises'
import {join, relative} from 'node:path'
import {connectClient, startConnect} from './connect.ts'
import {depthOf, failSinks, fillTopics} from './fill.ts'
import {startJavaHelper} from './java-helper.ts'
import {endStaleProcesses} from './java-process.ts'
import {startKafka} from './kafka.ts'
import {ensureLibs, type KafkaVersion} from './libs.ts'
import {withLock} from './lock.ts'
import {cacheDir, SandboxError} from './paths.ts'
import {freePorts, isFree} from './ports.ts'
import {connectorConfig, deadLetterCount, type Flow, scenario} from './scenario.ts'
import {readState, running, sandboxRunDir, type SandboxState, stopSandbox, writeState} from './state.ts'

const USAGE = `usage: npm run sandbox [-- start|status|fix|stop]

  start   Kafka and Connect in the background, four failing sinks, and their dead letters (the default)
  status  addresses, connectors and depths
  fix     remove the faults: from now on every sink takes every record
  stop    end it and remove its data`

const VERSION: KafkaVersion = '4.4.0'
const PORT = 19_092
const outputDir = join(sandboxRunDir, 'processed')

async function main(args: readonly string[]): Promise<void> {
  const [command = 'start', ...rest] = args
  if (rest.length > 0) throw new SandboxError(USAGE)
  switch (command) {
    case 'start':
      return alone(start)
    case 'stop':
      return alone(stop)
    case 'status':
      return status(await requireState())
    case 'fix':
      return fix(await requireState())
    default:
      throw new SandboxError(USAGE)
  }
}

function alone(work: () => Promise<void>): Promise<void> {
  return withLock(join(cacheDir, 'sandbox.lock'), work)
}

async function start(): Promise<void> {
  const before = await readState()
  if (before !== null) {
    say(`The sandbox runs already (stop it with: npm run sandbox -- stop).\n`)
    say(guide(before))
    return
  }
  await stopSandbox()
  const began = Date.now()
  say(`Fetching Kafka ${VERSION} if it is not there yet ...`)
  await ensureLibs(VERSION)
  say('Starting a broker and a Connect worker ...')
  const state = await startServices()
  say(`\nReady after ${Math.round((Date.now() - began) / 1000)} s.\n`)
  say(guide(state))
}

async function startServices(): Promise<SandboxState> {
  const undo: (() => Promise<void>)[] = [() => rm(sandboxRunDir, {recursive: true, force: true})]
  const undoAll = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step()
  }
  const interrupt = (): void => {
    void undoAll().finally(() => process.exit(130))
  }
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
  try {
    const [port = PORT] = (await isFree(PORT)) ? [PORT] : await freePorts(1)
    const kafka = await startKafka({version: VERSION, dir: sandboxRunDir, port, detached: true})
    undo.push(() => kafka.kill())
    await using helper = startJavaHelper(kafka.libs, kafka.bootstrapServers)
    const filled = fillTopics(helper, scenario())
    filled.catch(() => undefined)
    const connect = await startConnect({
      version: VERSION,
      dir: join(sandboxRunDir, 'connect'),
      bootstrapServers: kafka.bootstrapServers,
      detached: true,
    })
    undo.push(() => connect.kill())
    await filled
    say('Waiting until the sinks have failed ...')
    await failSinks(helper, connect, scenario(), outputDir)
    const state = {
      version: VERSION,
      bootstrapServers: kafka.bootstrapServers,
      connectUrl: connect.url,
      processes: [running('Connect worker', connect.pid), ...kafka.pids.map(pid => running('broker', pid))],
    }
    await writeState(state)
    kafka.release()
    connect.release()
    return state
  } catch (error) {
    await undoAll()
    throw error
  } finally {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
}

async function stop(): Promise<void> {
  const ended = await stopSandbox()
  await endStaleProcesses()
  say(ended === 0 ? 'No sandbox was running.' : 'The sandbox is stopped and its data are removed.')
}

async function status(state: SandboxState): Promise<void> {
  const connect = connectClient(state.connectUrl)
  await using helper = startJavaHelper(await ensureLibs(VERSION), state.bootstrapServers)
  say(`Kafka ${state.version} at ${state.bootstrapServers}, Connect at ${state.connectUrl}\n`)
  for (const flow of scenario()) {
    const {connector, tasks} = await connect.status(flow.connector)
    const states = [connector, ...tasks].map(each => each.state).join(', ')
    say(`${flow.connector.padEnd(16)}${states.padEnd(30)}${flow.dlq}: ${await depthOf(helper, flow.dlq)} records`)
  }
}

async function fix(state: SandboxState): Promise<void> {
  const connect = connectClient(state.connectUrl)
  for (const flow of scenario()) await connect.putConnector(flow.connector, connectorConfig(flow, outputDir, true))
  say('The sinks take every record now. Put the dead letters back and see them arrive:\n')
  say('  kdlq replay orders-dlq --create-ledger --yes')
  say(`  tail -n 3 ${relative(process.cwd(), outputDir)}/orders-sink-0.ndjson`)
}

async function requireState(): Promise<SandboxState> {
  const state = await readState()
  if (state === null) throw new SandboxError('no sandbox is running; start one with: npm run sandbox')
  return state
}

function guide(state: SandboxState): string {
  const flows = scenario().map(flow => `  ${flow.dlq.padEnd(16)}${summary(flow)}`)
  return `Kafka ${state.version}   ${state.bootstrapServers}
Connect       ${state.connectUrl}

${flows.join('\n')}

Try:
  alias kdlq='npm run --silent dev --'
  export KDLQ_BOOTSTRAP_SERVER=${state.bootstrapServers}

  kdlq inspect orders-dlq
  kdlq stats orders-dlq --by stage,cause
  kdlq inspect '*-dlq' --stage TRANSFORMATION
  kdlq show orders-dlq:0:0
  kdlq replay orders-dlq --stage TASK_PUT --dry-run

  npm run sandbox -- fix         remove the faults, so that a replay succeeds
  kdlq replay orders-dlq --create-ledger --yes
  npm run sandbox -- status
  npm run sandbox -- stop`
}

function summary(flow: Flow): string {
  const stages = new Map<string, number>()
  for (const {stage} of flow.records) if (stage !== null) stages.set(stage, (stages.get(stage) ?? 0) + 1)
  const counts = [...stages].map(([stage, count]) => `${stage} ${count}`).join(', ')
  return `${deadLetterCount(flow)} of ${flow.records.length} records of ${flow.topic} died: ${counts}`
}

function say(text: string): void {
  console.log(text)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof SandboxError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
