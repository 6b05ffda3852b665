import {afterEach, expect, test} from 'vitest'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import {runReplay} from '../../../src/lib/replay/run-replay.ts'
import {corpusLetters} from '../../support/corpus.ts'
import type {CorpusLetter} from '../../support/corpus.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {archiveOf, closeArchives, FakeTarget, inputFor, NOW} from './support.ts'

afterEach(closeArchives)

const RUN = 'r-01ARYZ6S410000000000000000'
const DECISIONS = {allow: ['tombstone'], skip: ['pointer', 'value-lost', 'no-origin', 'duplicate-origin']}

/** What the application called the record; the names of headers survive every family but share groups. */
function idOf({headers}: KafkaRecord): string | undefined {
  return headers.find(({name}) => name.toString() === 'app-id')?.value?.toString()
}

/** First lives whose key, value and headers are intact, or became so when the dead letter's own additions went. */
function isFirstLife({expected, source, record}: CorpusLetter): boolean {
  const {replayPolicy, keyIntact, valueIntact, headersIntact} = expected.truth
  if (source === undefined || replayPolicy !== undefined) return false
  const gained = record.headers.some(({name}) => name.toString() === '__TypeId__')
  return keyIntact === true && valueIntact === true && (headersIntact === true || gained)
}

test.each([
  ['kafka-streams-4.4.0', 35, true],
  ['quarkus-messaging-kafka-3.33.2', 40, false],
  ['spring-cloud-stream-kafka-5.0.4', 20, true],
  ['spring-kafka-3.3.10', 40, true],
  ['spring-kafka-4.1.2', 80, true],
] as const)('%s: what a replay sends is the record that failed', async (name, atLeast, hasTime) => {
  const letters = (await corpusLetters(name)).filter(isFirstLife)
  const sources = new Map(
    letters.flatMap(({source}) => (source === undefined ? [] : [[idOf(source), source] as const])),
  )
  const source = await archiveOf(letters.map(({record}) => record))
  const topics = new Set([...sources.values()].map(({topic}) => topic))
  const target = new FakeTarget(Object.fromEntries([...topics].map(topic => [topic, {partitions: 6}])))
  const clock = new FakeClock({now: NOW, auto: true})
  const headers = {...DEFAULT_HEADER_POLICY, provenance: false}
  const input = await inputFor(source, {headers, timestamp: 'original', ...DECISIONS})
  const {plan} = await planReplay({source, target, clock}, input)
  const limits = {maxFailed: null, maxDurationMs: null, deliveryTimeoutMs: 30_000}
  const {result} = await runReplay({source, target, clock}, {run: RUN, plan, ...limits}, {})
  expect(result.counts).toMatchObject({failed: 0, replayed: target.written.length})
  expect(target.written.length).toBeGreaterThanOrEqual(atLeast)
  for (const written of target.written) {
    const failed = sources.get(idOf(written))
    expect({key: written.key, value: written.value, headers: written.headers, at: written.partition}).toEqual({
      key: failed?.key,
      value: failed?.value,
      headers: failed?.headers,
      at: failed?.partition,
    })
    const time = hasTime ? failed?.timestamp : written.timestamp
    expect(written.timestamp).toBe(time)
  }
})
