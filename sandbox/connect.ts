import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {endStaleProcesses, startJava, waitUntil} from './java-process.ts'
import {properties} from './kafka.ts'
import {ensureLibs, type KafkaVersion} from './libs.ts'
import {sandboxDir, SandboxError} from './paths.ts'
import {freePorts} from './ports.ts'

export interface ConnectOptions {
  readonly bootstrapServers: string
  readonly version: KafkaVersion
  /** Folder for configuration and log; made when it is missing. */
  readonly dir: string
  /** Worker properties; they win over the sandbox's own. */
  readonly configs?: Readonly<Record<string, string>>
  readonly detached?: boolean
  /** Let `readMBeans` ask this worker. */
  readonly mbeans?: boolean
}

export type ConnectorConfig = Readonly<Record<string, string>>

/** Answer of `GET /connectors/NAME/status`. */
interface ConnectorStatus {
  readonly name: string
  readonly connector: {readonly state: string; readonly worker_id: string; readonly trace?: string}
  readonly tasks: readonly {readonly id: number; readonly state: string; readonly trace?: string}[]
}

/** The REST interface of a running worker. */
export interface ConnectClient {
  readonly url: string
  /** Create or change a connector and wait until it runs with this configuration. */
  putConnector(name: string, config: ConnectorConfig): Promise<void>
  deleteConnector(name: string): Promise<void>
  status(name: string): Promise<ConnectorStatus>
  /** Restart connector and tasks. */
  restart(name: string): Promise<void>
  /** Wait until connector and tasks are in this state; with another final state the error has the trace. */
  waitFor(name: string, state: 'RUNNING' | 'FAILED' | 'PAUSED'): Promise<void>
}

/** Canonical name of an MBean, then attribute, then value. */
export type MBeans = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export interface ConnectWorker extends ConnectClient, AsyncDisposable {
  readonly pid: number
  readonly logFile: string
  /** Attributes by name of the MBeans that match a pattern, e.g. `kafka.connect:type=task-error-metrics,*`. */
  readMBeans(pattern: string): Promise<MBeans>
  stop(): Promise<void>
  kill(): Promise<void>
  /** For a detached one: keep it although its starter ends. */
  release(): void
}

/**
 * Start a distributed Connect worker with the sandbox's plugins and wait until it answers on REST.
 * @throws SandboxError with the last lines of the log when it does not come up
 */
export async function startConnect(options: ConnectOptions): Promise<ConnectWorker> {
  const libs = await ensureLibs(options.version)
  await endStaleProcesses()
  await mkdir(options.dir, {recursive: true})
  const [port = 0, mbeansPort = 0] = await freePorts(2)
  const configFile = join(options.dir, 'worker.properties')
  const url = `http://127.0.0.1:${port}`
  await writeFile(configFile, properties({...workerConfig(options, url, libs.pluginsDir), ...options.configs}))
  const java = startJava({
    name: 'Connect worker',
    classPath: libs.classPath,
    args: [
      ...(options.mbeans === true ? ['--mbeans', String(mbeansPort)] : []),
      'org.apache.kafka.connect.cli.ConnectDistributed',
      configFile,
    ],
    jvm: [`-Dlog4j2.configurationFile=${join(sandboxDir, 'log4j2.properties')}`],
    logFile: join(options.dir, 'worker.log'),
    detached: options.detached ?? false,
  })
  const client = connectClient(url)
  try {
    await waitUntil(java, 120_000, () => answers(`${url}/connectors`))
  } catch (error) {
    await java.kill()
    throw error
  }
  return {
    ...client,
    pid: java.pid,
    logFile: java.logFile,
    readMBeans: pattern => readMBeans(mbeansPort, pattern),
    stop: () => java.stop(),
    kill: () => java.kill(),
    release: () => java.release(),
    [Symbol.asyncDispose]: () => java.stop(),
  }
}

function workerConfig(options: ConnectOptions, url: string, pluginsDir: string): Record<string, string> {
  return {
    'bootstrap.servers': options.bootstrapServers,
    'group.id': 'kdlq-sandbox-connect',
    'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
    'value.converter.schemas.enable': 'false',
    'config.storage.topic': '_connect-configs',
    'offset.storage.topic': '_connect-offsets',
    'status.storage.topic': '_connect-status',
    'config.storage.replication.factor': '1',
    'offset.storage.replication.factor': '1',
    'status.storage.replication.factor': '1',
    'offset.storage.partitions': '2',
    'status.storage.partitions': '1',
    'offset.flush.interval.ms': '2000',
    'scheduled.rebalance.max.delay.ms': '0',
    // Sources write before a consumer exists; the default, latest, would skip them.
    'consumer.auto.offset.reset': 'earliest',
    'consumer.metadata.max.age.ms': '2000',
    listeners: url,
    'plugin.path': pluginsDir,
    'plugin.discovery': 'service_load',
  }
}

/** @throws SandboxError when the worker was started without them, or the pattern is none */
async function readMBeans(port: number, pattern: string): Promise<MBeans> {
  const response = await fetch(`http://127.0.0.1:${port}/?${pattern}`, {signal: AbortSignal.timeout(30_000)})
  if (!response.ok) throw new SandboxError(`MBeans answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as MBeans
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, {signal: AbortSignal.timeout(2000)})
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** A client for a worker that runs already. */
export function connectClient(url: string): ConnectClient {
  const at = (name: string, path = ''): string => `${url}/connectors/${encodeURIComponent(name)}${path}`
  const status = async (name: string): Promise<ConnectorStatus | null> => {
    const response = await rest('GET', at(name, '/status'), undefined, [404])
    return response.status === 404 ? null : ((await response.json()) as ConnectorStatus)
  }
  const waitFor = async (name: string, state: string): Promise<void> => {
    const deadline = Date.now() + 120_000
    for (;;) {
      const now = await status(name)
      const states = now === null ? [] : [now.connector.state, ...now.tasks.map(task => task.state)]
      if (states.length > 1 && states.every(each => each === state)) return
      if (state === 'FAILED' && states.slice(1).includes('FAILED')) return
      if (state !== 'FAILED' && states.includes('FAILED')) {
        const trace = now?.connector.trace ?? now?.tasks.find(task => task.trace !== undefined)?.trace
        throw new SandboxError(`connector ${name} failed: ${trace ?? 'no trace'}`)
      }
      if (Date.now() > deadline) throw new SandboxError(`connector ${name} is ${states.join(', ')}, not ${state}`)
      await sleep(100)
    }
  }
  // Tasks that have gone cannot take one more record with the old configuration, nor be mistaken for the new ones.
  const stopTasks = async (name: string): Promise<void> => {
    await rest('PUT', at(name, '/stop'))
    const deadline = Date.now() + 120_000
    for (;;) {
      const now = await status(name)
      if (now?.connector.state === 'STOPPED' && now.tasks.length === 0) return
      if (Date.now() > deadline) throw new SandboxError(`connector ${name} does not stop`)
      await sleep(100)
    }
  }
  return {
    url,
    async putConnector(name, config) {
      const before = await status(name)
      if (before !== null) await stopTasks(name)
      await rest('PUT', at(name, '/config'), config)
      if (before !== null) await rest('PUT', at(name, '/resume'))
      await waitFor(name, 'RUNNING')
    },
    async deleteConnector(name) {
      await rest('DELETE', at(name), undefined, [404])
    },
    async status(name) {
      const now = await status(name)
      if (now === null) throw new SandboxError(`there is no connector ${name}`)
      return now
    },
    async restart(name) {
      await rest('POST', at(name, '/restart?includeTasks=true'))
    },
    waitFor,
  }
}

/** One request; repeated while a rebalance is in progress (409) or the worker has not seen the connector yet. */
async function rest(
  method: string,
  url: string,
  body?: ConnectorConfig,
  accepted: readonly number[] = [],
): Promise<Response> {
  const deadline = Date.now() + 120_000
  for (;;) {
    const response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(90_000),
      ...(body === undefined ? {} : {body: JSON.stringify(body), headers: {'content-type': 'application/json'}}),
    })
    if (response.ok || accepted.includes(response.status)) return response
    const text = await response.text()
    if (response.status !== 409 || Date.now() > deadline) {
      throw new SandboxError(`${method} ${url} answered ${response.status}: ${text}`)
    }
    await sleep(200)
  }
}
