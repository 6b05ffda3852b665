import {afterEach, expect, test} from 'vitest'
import {createPaint} from '../../../src/lib/render/paint.ts'
import {renderReplayPlan} from '../../../src/lib/render/replay-plan.ts'
import {DEFAULT_HEADER_POLICY} from '../../../src/lib/replay/header-policy.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import type {PlanInput} from '../../../src/lib/replay/plan-input.ts'
import {validatePlan} from '../../../src/lib/replay/plan-validate.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {recordWith} from '../../support/records.ts'
import {archiveOf, closeArchives, deadLetter, FakeTarget, inputFor, NOW} from './support.ts'

afterEach(closeArchives)

const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const place = (prefix: string, offset: string) =>
  [
    [`${prefix}original-topic`, 'orders'],
    [`${prefix}original-partition`, hex('00000003')],
    [`${prefix}original-offset`, hex(offset)],
    [`${prefix}original-timestamp`, hex('0000018bcfe56800')],
  ] as const

/** A connector's, one of Spring's recoverer and one of Spring's retry topics, all of one topic. */
const RECORDS = [
  deadLetter(0),
  deadLetter(1, {
    headers: recordWith([
      ['app', '1'],
      ...place('kafka_dlt-', '000000000000002a'),
      ['__TypeId__', 'java.util.LinkedHashMap'],
    ]).headers,
  }),
  deadLetter(2, {
    headers: recordWith([...place('kafka_', '000000000000002b'), ['retry_topic-attempts', hex('00000004')]]).headers,
  }),
]

async function planOf(over: {-readonly [name in keyof PlanInput]?: PlanInput[name]}): Promise<ReplayPlan> {
  const source = await archiveOf(RECORDS)
  const target = new FakeTarget({orders: {partitions: 6}})
  const input = await inputFor(source, over)
  const {plan} = await planReplay({source, target, clock: new FakeClock({now: NOW})}, input)
  expect(validatePlan(JSON.parse(JSON.stringify(plan)))).toEqual(plan)
  return plan
}

async function shown(plan: ReplayPlan): Promise<string> {
  const context = {width: null, unicode: true, paint: createPaint(0), nowMs: NOW, forTerminal: false}
  let text = ''
  for await (const part of renderReplayPlan(plan, context)) text += part
  return text
}

test('a plan has the headers before and after of one record of each kind', async () => {
  const plan = await planOf({timestamp: 'default'})
  expect(plan.samples.map(({kind, after, timestamp}) => [kind, after, timestamp])).toEqual([
    ['connect', ['trace', 'kdlq.replay'], String(RECORDS[0]?.timestamp)],
    ['spring-dlt', ['app', 'kdlq.replay'], '1700000000000'],
    ['spring-retry', ['kdlq.replay'], null],
  ])
  const text = await shown(plan)
  expect(text).toContain(
    'headers  of orders-dlq:0:1 (spring-dlt, to orders:3)\n' +
      '  before app, kafka_dlt-* (4), __TypeId__\n' +
      '  remove kafka_dlt-* (4), __TypeId__\n' +
      '  add    kdlq.replay\n' +
      '  after  app, kdlq.replay\n',
  )
  expect(text).toContain('time     of the original record, of sending for spring-retry: ')
})

test('what is kept although it breaks the second life is said', async () => {
  const plan = await planOf({headers: {...DEFAULT_HEADER_POLICY, keep: ['retry_topic-*']}, timestamp: 'original'})
  expect(plan.samples.at(-1)).toMatchObject({harmful: ['retry_topic-attempts'], timestamp: '1700000000000'})
  const text = await shown(plan)
  expect(text).toContain('  keeps  retry_topic-attempts: the next failure will not be handled as a first one\n')
  expect(text).toContain('time     of the original record\n')
})
