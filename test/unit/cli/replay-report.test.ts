import {expect, test} from 'vitest'
import {failureLines, isBadAnswer, nextCommand} from '../../../src/lib/cli/replay-report.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {unexecuted, ZERO_COUNTS} from '../../../src/lib/replay/result.ts'
import type {ReplayResult} from '../../../src/lib/replay/result.ts'

const plan = {parking: null, checks: [], target: {kind: 'kafka', name: 'x:9092'}} as unknown as ReplayPlan
const resultOf = (over: Partial<ReplayResult>): ReplayResult => ({...unexecuted(plan, [], 0), run: 'r-1', ...over})
const NONE = {kind: 'none'} as const

test('parked because it failed is a bad answer, parked by policy is none', () => {
  expect(
    isBadAnswer(resultOf({counts: {...ZERO_COUNTS, parked: 1}, parking: {topic: 'p', failed: 0, policy: 1}})),
  ).toBe(false)
  expect(isBadAnswer(resultOf({parking: {topic: 'p', failed: 1, policy: 0}}))).toBe(true)
  for (const name of ['failed', 'unknown', 'gone'] as const) {
    expect(isBadAnswer(resultOf({counts: {...ZERO_COUNTS, [name]: 1}}))).toBe(true)
  }
  expect(isBadAnswer(resultOf({stopped: {reason: 'errors-tolerance', remaining: 0, settled: true}}))).toBe(true)
})

test('the first twenty failures are told one by one', () => {
  const failures = Array.from({length: 25}, (_, offset) => ({
    address: `t:0:${offset}`,
    state: offset === 0 ? ('parked' as const) : ('failed' as const),
    code: 'E',
    message: 'no',
  }))
  const lines = [...failureLines(resultOf({failures, failuresOmitted: 3}), NONE)]
  expect(lines).toHaveLength(21)
  expect(lines.slice(0, 2)).toEqual(['t:0:0 was parked: no', 't:0:1 failed: no'])
  expect(lines.at(-1)).toBe('and 8 more records; --json lists up to 1,000')
})

test('the next command is to resume, else to look at what was parked, failed or sent', () => {
  const failures = [{address: 't:0:1', state: 'failed' as const, code: 'E', message: 'no'}]
  const parking = {topic: 'p', failed: 1, policy: 0}
  const stopped = {reason: 'errors-tolerance' as const, remaining: 1, settled: true}
  const targets = [{topic: 'orders', partition: 0, count: 1}]
  const file = {kind: 'file', path: 'l.ndjson'} as const
  expect(nextCommand(resultOf({stopped, parking, failures}), file)).toBe('kdlq resume r-1 --ledger file:l.ndjson')
  expect(nextCommand(resultOf({stopped, parking, failures}), NONE)).toBe('kdlq inspect p --connector r-1')
  expect(nextCommand(resultOf({failures}), NONE)).toBe('kdlq show t:0:1')
  expect(nextCommand(resultOf({targets}), NONE)).toBe('kdlq inspect orders --tail 10')
  expect(nextCommand(resultOf({}), NONE)).toBeNull()
})
