import {randomBytes} from 'node:crypto'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {endStaleProcesses, type JavaProcess, startJava, waitUntil} from './java-process.ts'
import {ensureLibs, type KafkaLibs, type KafkaVersion} from './libs.ts'
import {type ExtraListener, listenerProperties, scramArguments} from './listeners.ts'
import {sandboxDir} from './paths.ts'
import {freePorts} from './ports.ts'
import {countBrokers} from './probe.ts'

export interface KafkaOptions {
  readonly version: KafkaVersion
  /** Folder for data, configuration and logs; made when it is missing, left in place at the end. */
  readonly dir: string
  /** The second broker has no controller: the cluster survives its death, not the first one's. */
  readonly brokers?: 1 | 2
  /** By name (letters, digits, underscore); every broker gets each of them on a port of its own. */
  readonly extraListeners?: Readonly<Record<string, ExtraListener>>
  /** Broker properties; they win over the sandbox's own. */
  readonly configs?: Readonly<Record<string, string>>
  /** Feature levels other than the version's own defaults, such as `{'transaction.version': 1}`; set when it is formatted. */
  readonly features?: Readonly<Record<string, number>>
  /** Port of the first broker's plain listener; a free one when it is not given. */
  readonly port?: number
  /** True: the brokers go on when this process ends. */
  readonly detached?: boolean
}

export interface KafkaBroker {
  readonly id: number
  readonly port: number
  readonly logFile: string
  readonly pid: number
  stop(): Promise<void>
  kill(): Promise<void>
  /** Start again on the same data and ports after `stop` or `kill`; resolves when it answers. */
  start(): Promise<void>
  /** Keep every connection open and answer nothing (SIGSTOP). */
  suspend(): void
  resume(): void
  /** For a detached one: keep it although its starter ends. */
  release(): void
}

export interface Kafka extends AsyncDisposable {
  readonly libs: KafkaLibs
  readonly dir: string
  /** `host:port` of the plain listeners, separated by commas. */
  readonly bootstrapServers: string
  /** `host:port` list by listener name, `PLAINTEXT` included. */
  readonly listeners: Readonly<Record<string, string>>
  readonly brokers: readonly KafkaBroker[]
  readonly pids: readonly number[]
  /** Log of the first broker. */
  readonly logFile: string
  /** SIGTERM, then SIGKILL; twice is fine. */
  stop(): Promise<void>
  kill(): Promise<void>
  restart(): Promise<void>
  suspend(): void
  resume(): void
  release(): void
}

/**
 * Start Kafka in KRaft mode on 127.0.0.1 and wait until it answers requests for metadata.
 * @throws SandboxError with the last lines of the log when a broker does not come up
 */
export async function startKafka(options: KafkaOptions): Promise<Kafka> {
  const libs = await ensureLibs(options.version)
  await endStaleProcesses()
  const plans = await planBrokers(options)
  const count = plans.length
  const brokers = await Promise.all(plans.map(plan => createBroker(libs, options, plan, plans)))
  const all = async (work: (broker: KafkaBroker) => Promise<void>): Promise<void> => {
    await Promise.all(brokers.map(work))
  }
  // A broker says goodbye to its controller and would wait for one that has gone: the first broker ends last.
  const stopAll = async (): Promise<void> => {
    for (const broker of brokers.toReversed()) await broker.stop()
  }
  const startAll = async (): Promise<void> => {
    await all(broker => broker.start())
    // Each broker answers for itself first; a cluster is up when each knows the others.
    await Promise.all(brokers.map(broker => broker.waitForBrokers(count)))
  }
  try {
    await startAll()
  } catch (error) {
    await all(broker => broker.kill())
    throw error
  }
  const [first] = brokers
  if (first === undefined) throw new Error('no broker was planned')
  return {
    libs,
    dir: options.dir,
    bootstrapServers: addresses(plans, 'PLAINTEXT'),
    listeners: Object.fromEntries(listenerNames(options).map(name => [name, addresses(plans, name)])),
    brokers,
    get pids() {
      return brokers.map(broker => broker.pid)
    },
    logFile: first.logFile,
    stop: stopAll,
    kill: () => all(broker => broker.kill()),
    async restart() {
      await stopAll()
      await startAll()
    },
    suspend() {
      for (const broker of brokers) broker.suspend()
    },
    resume() {
      for (const broker of brokers) broker.resume()
    },
    release() {
      for (const broker of brokers) broker.release()
    },
    [Symbol.asyncDispose]: stopAll,
  }
}

interface BrokerPlan {
  readonly id: number
  readonly ports: ReadonlyMap<string, number>
  readonly controllerPort: number
  readonly clusterId: string
}

function listenerNames(options: KafkaOptions): string[] {
  return ['PLAINTEXT', ...Object.keys(options.extraListeners ?? {})]
}

function addresses(plans: readonly BrokerPlan[], listener: string): string {
  return plans.map(plan => `127.0.0.1:${plan.ports.get(listener) ?? 0}`).join(',')
}

async function planBrokers(options: KafkaOptions): Promise<BrokerPlan[]> {
  const names = listenerNames(options)
  const count = options.brokers ?? 1
  const ports = await freePorts(count * names.length + 1)
  const controllerPort = ports.pop() ?? 0
  const clusterId = newClusterId()
  return Array.from({length: count}, (_, index) => {
    const own = names.map((name, at) => [name, ports[index * names.length + at] ?? 0] as const)
    const byName = new Map(own)
    if (index === 0 && options.port !== undefined) byName.set('PLAINTEXT', options.port)
    return {id: index + 1, ports: byName, controllerPort, clusterId}
  })
}

/** A Kafka Uuid: 16 bytes in URL-safe base64; Kafka's own never begin with a dash, which its tools would take for an option. */
function newClusterId(): string {
  for (;;) {
    const id = randomBytes(16).toString('base64url')
    if (!id.startsWith('-')) return id
  }
}

interface StartedBroker extends KafkaBroker {
  waitForBrokers(count: number): Promise<void>
}

async function createBroker(
  libs: KafkaLibs,
  options: KafkaOptions,
  plan: BrokerPlan,
  plans: readonly BrokerPlan[],
): Promise<StartedBroker> {
  const folder = join(options.dir, `broker-${plan.id}`)
  await mkdir(folder, {recursive: true})
  const configFile = join(folder, 'server.properties')
  const logFile = join(folder, 'broker.log')
  await writeFile(configFile, properties(brokerConfig(options, plan, join(folder, 'data'), plans.length)))
  const port = plan.ports.get('PLAINTEXT') ?? 0
  const role = plan.id === 1 ? '--standalone' : '--no-initial-controllers'
  const features = Object.entries(options.features ?? {}).flatMap(([name, level]) => ['--feature', `${name}=${level}`])
  const users = scramArguments(options.extraListeners)
  const format = ['format', role, '-c', configFile, '-t', plan.clusterId, ...features, ...users]
  const state: {java: JavaProcess | null; formatted: boolean} = {java: null, formatted: false}
  const running = (): JavaProcess => {
    if (state.java === null) throw new Error(`broker ${plan.id} does not run`)
    return state.java
  }
  return {
    id: plan.id,
    port,
    logFile,
    get pid() {
      return running().pid
    },
    async start() {
      state.java = startJava({
        name: `broker ${plan.id}`,
        classPath: libs.classPath,
        args: [...(state.formatted ? [] : ['--format', ...format, '--']), 'kafka.Kafka', configFile],
        jvm: [`-Dlog4j2.configurationFile=${join(sandboxDir, 'log4j2.properties')}`],
        logFile,
        detached: options.detached ?? false,
      })
      await waitUntil(state.java, 120_000, async () => (await countBrokers(port)) > 0)
      state.formatted = true
    },
    waitForBrokers: count => waitUntil(running(), 60_000, async () => (await countBrokers(port)) >= count),
    async stop() {
      await state.java?.stop()
    },
    async kill() {
      await state.java?.kill()
    },
    suspend: () => running().suspend(),
    resume: () => running().resume(),
    release: () => running().release(),
  }
}

function brokerConfig(
  options: KafkaOptions,
  plan: BrokerPlan,
  dataDir: string,
  brokerCount: number,
): Record<string, string> {
  const own = [...plan.ports].map(([name, port]) => `${name}://127.0.0.1:${port}`)
  const isController = plan.id === 1
  return {
    'process.roles': isController ? 'broker,controller' : 'broker',
    'node.id': String(plan.id),
    'controller.quorum.bootstrap.servers': `127.0.0.1:${plan.controllerPort}`,
    listeners: [...own, ...(isController ? [`CONTROLLER://127.0.0.1:${plan.controllerPort}`] : [])].join(','),
    'advertised.listeners': own.join(','),
    'inter.broker.listener.name': 'PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': dataDir,
    'num.partitions': '1',
    'default.replication.factor': '1',
    // The defaults of three replicas block the first use of each of these topics on a single broker.
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '4',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '4',
    ...(options.version === '3.9.2'
      ? {}
      : {
          'share.coordinator.state.topic.replication.factor': '1',
          'share.coordinator.state.topic.min.isr': '1',
          'share.coordinator.state.topic.num.partitions': '4',
        }),
    'group.initial.rebalance.delay.ms': '0',
    'auto.create.topics.enable': 'false',
    // Dead letters keep old timestamps, and retention goes by timestamp.
    'log.retention.ms': '-1',
    'num.network.threads': '2',
    'num.io.threads': brokerCount > 1 ? '3' : '4',
    'log.cleaner.dedupe.buffer.size': String(8 * 1024 * 1024),
    ...listenerProperties(options.extraListeners),
    ...options.configs,
  }
}

/** A Java properties file; keys hold no character that needs escaping, values get theirs. */
export function properties(entries: Readonly<Record<string, string>>): string {
  return Object.entries(entries)
    .map(([key, value]) => `${key}=${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`)
    .join('')
}
