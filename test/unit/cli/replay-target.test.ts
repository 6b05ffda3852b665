import {expect, test} from 'vitest'
import {parseMaxFailed, toMaxFailed} from '../../../src/lib/cli/run-limits.ts'
import {archivesOf, assertAllowedTargets} from '../../../src/lib/cli/replay-target.ts'
import {RefusedError} from '../../../src/lib/errors.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'

const planFor = (
  topic: string,
  clusterId: string | null = 'abc',
): Pick<ReplayPlan, 'targets' | 'target' | 'parking'> => ({
  targets: [{topic, partition: 0, count: 1, bytes: 1}],
  parking: null,
  target: {
    kind: 'kafka',
    clusterId,
    name: 'x:9092',
    topic: '{origin.topic}',
    partitionRule: 'origin',
    partitionFallback: null,
    topics: [],
  },
})

test.each([
  [['orders'], 'orders', true],
  [['orders-*'], 'orders-eu', true],
  [['orders-*'], 'payments', false],
  [['abc/orders'], 'orders', true],
  [['other/orders'], 'orders', false],
  [['other/*', 'abc/pay*'], 'payments', true],
  [[], 'orders', true],
])('allowedTargets %j and %s: %j', (patterns, topic, allowed) => {
  const outcome = ((): string => {
    try {
      assertAllowedTargets(planFor(topic), patterns, 'prod')
      return 'allowed'
    } catch (error) {
      return error instanceof RefusedError ? error.code : String(error)
    }
  })()
  expect(outcome).toBe(allowed ? 'allowed' : 'E_TARGET_NOT_ALLOWED')
})

test('a parking topic has to be among allowedTargets too', () => {
  const parking = {topic: 'parking'} as ReplayPlan['parking']
  expect(() => assertAllowedTargets({...planFor('orders'), parking}, ['orders'], 'prod')).toThrow(
    'parking topic parking is not among allowedTargets of profile prod',
  )
  expect(() => assertAllowedTargets({...planFor('orders'), parking}, ['orders', 'park*'], 'prod')).not.toThrow()
})

test('archives of a plan are opened by the names they had', () => {
  const source = (name: string) => ({source: {kind: 'archive', name}}) as unknown as ReplayPlan
  expect(archivesOf(source('example:orders-dlq, out/a.ndjson, -'))).toEqual([
    {kind: 'example', name: 'orders-dlq'},
    {kind: 'archive', path: 'out/a.ndjson'},
    {kind: 'stdin'},
  ])
})

test('--max-failed is a number or a share of the plan', () => {
  expect(toMaxFailed({'max-failed': parseMaxFailed('7', '--max-failed')}, 1000)).toBe(7)
  expect(toMaxFailed({'max-failed': parseMaxFailed('1%', '--max-failed')}, 1050)).toBe(10)
  expect(toMaxFailed({'max-failed': parseMaxFailed('0%', '--max-failed')}, 1050)).toBe(0)
  expect(toMaxFailed({}, 1050)).toBeNull()
  for (const text of ['', '-1', '1.5', '101%', '%'])
    expect(() => parseMaxFailed(text, '--max-failed')).toThrow('--max-failed')
})
