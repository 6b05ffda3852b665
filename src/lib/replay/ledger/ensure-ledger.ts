import type {Clock} from '../../clock.ts'
import {ConfigError, KafkaError, RefusedError} from '../../errors.ts'
import type {Cluster, TopicConfigs, TopicDescription} from '../../kafka/ports.ts'
import {recordsIn} from '../../kafka/records/records-in.ts'
import {LAYOUT_KEY} from './names.ts'
import {parseLayout} from './parse.ts'
import {layoutRecord} from './records.ts'
import {LEDGER_PARTITIONS} from './types.ts'
import type {LedgerTopic} from './types.ts'
import {writeLedger} from './writer.ts'

/** A new topic is known everywhere within this, ms. */
const SETTLE_MS = 15_000
const POLL_MS = 100

export interface EnsureDeps {
  /** The cluster that holds the ledger. */
  readonly cluster: Cluster
  readonly clock: Clock
}

export interface EnsureInput {
  readonly name: string
  /** True: make the topic, or lay out an empty one. False writes nothing. */
  readonly create: boolean
  readonly deliveryTimeoutMs: number
}

/**
 * Check that a ledger topic is there and can be trusted; make it when that is allowed.
 * @throws RefusedError `E_NO_LEDGER` when it is missing or not laid out and may not be made; ConfigError
 * `E_LEDGER_NOT_COMPACTED`, `E_LEDGER_LAYOUT` when it is no ledger of this version; AuthError, KafkaError of the cluster
 */
export async function ensureLedger(
  deps: EnsureDeps,
  input: EnsureInput,
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<LedgerTopic> {
  const found = await describe(deps, input.name, options)
  if (found === null) {
    if (!input.create) throw noLedger(input.name, 'there is no ledger topic')
    await make(deps, input.name, options)
  }
  const topic = found ?? (await settled(deps, input.name, options))
  const configs = await readConfigs(deps, input.name, options)
  if (!policiesOf(configs).has('compact')) throw notCompacted(input.name)
  const ledger = {
    name: input.name,
    topicId: topic.id,
    clusterId: deps.cluster.description.clusterId,
    maxMessageBytes: numberOf(configs, 'max.message.bytes'),
  }
  const layout = await readLayout(deps, input.name, options)
  if (layout.partitions === null) {
    if (!layout.isEmpty) throw badLayout(input.name, 'it holds records, but not the one that says how it is laid out')
    if (!input.create) throw noLedger(input.name, 'the topic is empty and not laid out')
    const laidOut = {...ledger, partitions: topic.partitions.length}
    await writeLayout(deps, laidOut, input.deliveryTimeoutMs, options)
    return laidOut
  }
  if (layout.partitions > topic.partitions.length) {
    throw badLayout(
      input.name,
      `it was laid out for ${layout.partitions} partitions, but has ${topic.partitions.length}`,
    )
  }
  return {...ledger, partitions: layout.partitions}
}

/** @returns null when there is no such topic */
async function describe(
  {cluster}: EnsureDeps,
  name: string,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<TopicDescription | null> {
  const [topic] = await cluster.reader.topics([name], options)
  if (topic === undefined) return null
  if (topic.error === null) return topic
  if (topic.error.code === 'E_UNKNOWN_TOPIC_OR_PARTITION') return null
  throw topic.error
}

async function make(
  {cluster}: EnsureDeps,
  name: string,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<void> {
  try {
    await cluster.admin.createTopic(
      {name, partitions: LEDGER_PARTITIONS, replicationFactor: -1, configs: {'cleanup.policy': 'compact'}},
      options,
    )
  } catch (error) {
    // Two operators begin at once: either topic is right.
    if (!(error instanceof KafkaError) || error.code !== 'E_TOPIC_ALREADY_EXISTS') throw error
  }
}

/** Wait until the new topic has leaders everywhere. */
async function settled(
  deps: EnsureDeps,
  name: string,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<TopicDescription> {
  const deadline = deps.clock.monotonic() + SETTLE_MS
  for (;;) {
    const topic = await describe(deps, name, options)
    if (topic !== null && topic.partitions.length > 0 && topic.partitions.every(({leader}) => leader !== null)) {
      return topic
    }
    if (deps.clock.monotonic() >= deadline) {
      throw new KafkaError(`ledger topic ${name} was created, but has no leader yet`, {
        code: 'E_LEDGER_NOT_READY',
        retriable: true,
        hints: ['try again in a moment'],
        context: {ledger: name},
      })
    }
    await deps.clock.sleep(POLL_MS, options)
  }
}

/** The first layout record; it lies at the beginning of partition 0, so that little is read. */
async function readLayout(
  {cluster}: EnsureDeps,
  name: string,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<{readonly partitions: number | null; readonly isEmpty: boolean}> {
  const [start, end] = await cluster.reader.offsets(
    [
      {topic: name, partition: 0, at: 'earliest'},
      {topic: name, partition: 0, at: 'latest'},
    ],
    options,
  )
  const error = start?.error ?? end?.error ?? null
  if (error !== null) throw error
  const range = {topic: name, partition: 0, from: start?.offset ?? 0n, to: end?.offset ?? 0n}
  let isEmpty = true
  if (range.from >= range.to) return {partitions: null, isEmpty}
  // Uncommitted: the layout is written without a transaction, and nobody's open one may hide it.
  const blocks = cluster.reader.read({ranges: [range], isolationLevel: 'read_uncommitted', order: 'partition'}, options)
  for await (const block of blocks) {
    for (const {bytes, keyStart, keyLength, valueStart, valueLength} of recordsIn(block)) {
      isEmpty = false
      if (keyLength !== LAYOUT_KEY.length || valueLength < 0) continue
      if (bytes.toString('latin1', keyStart, keyStart + keyLength) !== LAYOUT_KEY) continue
      const partitions = parseLayout(bytes.subarray(valueStart, valueStart + valueLength))
      if (partitions === null) throw badLayout(name, 'it is laid out by another version of kdlq, or by something else')
      return {partitions, isEmpty}
    }
    if (block.done) break
  }
  return {partitions: null, isEmpty}
}

async function writeLayout(
  {cluster, clock}: EnsureDeps,
  ledger: LedgerTopic,
  deliveryTimeoutMs: number,
  {signal}: {readonly signal?: AbortSignal | undefined},
): Promise<void> {
  await using session = await cluster.writer.open({compression: 'none', transactionalId: null, deliveryTimeoutMs})
  await writeLedger(session, ledger, [layoutRecord(ledger.partitions)], {clock, signal})
}

async function readConfigs(
  {cluster}: EnsureDeps,
  name: string,
  options: {readonly signal?: AbortSignal | undefined},
): Promise<TopicConfigs> {
  const [configs] = await cluster.admin.topicConfigs([name], options)
  if (configs === undefined) return {topic: name, configs: new Map(), error: null}
  if (configs.error !== null) throw configs.error
  return configs
}

function policiesOf({configs}: TopicConfigs): ReadonlySet<string> {
  const value = configs.get('cleanup.policy')?.value ?? ''
  return new Set(value.split(',').map(policy => policy.trim()))
}

function numberOf({configs}: TopicConfigs, name: string): number | null {
  const value = configs.get(name)?.value ?? null
  return value !== null && /^[0-9]{1,15}$/.test(value) ? Number(value) : null
}

function noLedger(name: string, why: string): RefusedError {
  return new RefusedError(`${why}: ${name}`, {
    code: 'E_NO_LEDGER',
    hints: [
      'without a ledger nothing is known about what was replayed before; make one with --create-ledger',
      'if there should be one: check --ledger and the cluster that you are connected to',
    ],
    context: {ledger: name},
  })
}

function notCompacted(name: string): ConfigError {
  return new ConfigError(`ledger topic ${name} is not compacted`, {
    code: 'E_LEDGER_NOT_COMPACTED',
    hints: [`kafka-configs.sh --alter --topic ${name} --add-config cleanup.policy=compact`],
    context: {ledger: name},
  })
}

function badLayout(name: string, why: string): ConfigError {
  return new ConfigError(`topic ${name} is no ledger of this version: ${why}`, {
    code: 'E_LEDGER_LAYOUT',
    hints: ['name another topic with --ledger topic:NAME'],
    context: {ledger: name},
  })
}
