/** Runs Connect vectors over the engine: fake clock, scripted operations, no Kafka. */
import {METRIC_NAMES} from '../../src/lib/connect-engine/metrics.ts'
import type {Profile} from '../../src/lib/connect-engine/options.ts'
import {BugError} from '../../src/lib/errors.ts'
import {compareConnect} from './connect-compare.ts'
import {runConfigVector} from './connect-config.ts'
import {fromBigInt, fromBytes, fromError, fromHeaders} from './connect-format.ts'
import type {ConnectVector} from './connect-format.ts'
import {type Names, runStep} from './connect-steps.ts'
import {ConnectWorld} from './connect-world.ts'

const KINDS = new Set([
  'stage',
  'retry',
  'tolerance',
  'pipeline',
  'reporters',
  'close',
  'dlq',
  'log',
  'errant',
  'text',
  'config',
])

const PROFILES: Readonly<Record<string, readonly Profile[]>> = {
  both: ['P39', 'P4x'],
  '3.9': ['P39'],
  '4.4': ['P4x'],
}

/**
 * Lines of a vector file.
 * @throws Error for a line that is no vector, with its number
 */
export function parseConnectVector(line: string): ConnectVector {
  const vector = JSON.parse(line) as Partial<ConnectVector> | null
  const {id, kind, profile, input, expected} = vector ?? {}
  if (typeof id !== 'string' || typeof kind !== 'string' || typeof profile !== 'string') {
    throw new BugError('no vector: id, kind and profile are missing')
  }
  if (typeof input !== 'object' || typeof expected !== 'object')
    throw new BugError('no vector: input or expected is missing')
  return {id, kind, profile, input, expected, ...(vector?.title === undefined ? {} : {title: vector.title})}
}

/** Profiles of the engine that a vector is for. @throws BugError for an unknown one */
export function profilesOf({profile}: ConnectVector): readonly Profile[] {
  const profiles = PROFILES[profile]
  if (profiles === undefined) throw new BugError(`unknown profile ${profile}`)
  return profiles
}

/** Run a vector in each of its profiles. @returns the differences, a line each; empty = passed */
export async function connectDifferences(vector: ConnectVector): Promise<string[]> {
  const differences: string[] = []
  try {
    if (!KINDS.has(vector.kind)) throw new BugError(`unknown kind ${vector.kind}`)
    for (const profile of profilesOf(vector)) {
      const found = vector.kind === 'config' ? configDifferences(vector, profile) : await runSteps(vector, profile)
      differences.push(...found.map(difference => `${profile} ${difference}`))
    }
  } catch (error) {
    differences.push(`threw: ${String(error)}`)
  }
  return differences
}

function configDifferences(vector: ConnectVector, profile: Profile): string[] {
  return compareConnect(vector, vector.expected, runConfigVector(vector.input, profile))
}

async function runSteps(vector: ConnectVector, profile: Profile): Promise<string[]> {
  const {steps = []} = vector.input
  const {steps: wanted, ...totals} = vector.expected
  if (!Array.isArray(wanted)) throw new BugError('the vector expects no steps')
  const world = new ConnectWorld(vector.input, profile)
  const names: Names = {futures: new Map(), awaits: new Map()}
  const got: unknown[] = []
  for (const step of steps) got.push({...(await runStep(world, step, names)), counters: countersOf(world)})
  const differences = compareConnect(vector, {steps: wanted, ...totals}, {steps: got, ...totalsOf(world)})
  if (world.drawsLeft > 0) differences.push(`random: ${world.drawsLeft} draws were not made`)
  return [...differences, ...world.problems]
}

function countersOf(world: ConnectWorld): number[] {
  const metrics = world.metrics.snapshot()
  return METRIC_NAMES.slice(0, 4).map(name => metrics[name])
}

function totalsOf(world: ConnectWorld): Record<string, unknown> {
  const {'last-error-timestamp': lastErrorMs, ...counters} = world.metrics.snapshot()
  return {
    clock: fromBigInt(world.now),
    metrics: {...counters, 'last-error-timestamp-set': lastErrorMs > 0},
    reporterCalls: world.reporterCalls,
    dlq: world.deadLetters.map(({topic, timestamp, key, value, headers}) => ({
      topic,
      partition: null,
      timestamp: timestamp === null ? null : fromBigInt(timestamp),
      key: fromBytes(key),
      value: fromBytes(value),
      headers: fromHeaders(headers),
    })),
    log: world.log.map(({logger, message, error}) => ({
      logger,
      message,
      error: error === null ? null : fromError(error),
    })),
    ...(world.producerClosed ? {producerClosed: true} : {}),
  }
}
