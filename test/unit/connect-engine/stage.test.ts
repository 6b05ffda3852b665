import {expect, test} from 'vitest'
import {STAGE_RULES, STAGES} from '../../../src/lib/connect-engine/stage.ts'

test("the stages are Connect's, in its order", () => {
  expect(STAGES).toEqual([
    'TASK_POLL',
    'TASK_PUT',
    'TRANSFORMATION',
    'KEY_CONVERTER',
    'VALUE_CONVERTER',
    'HEADER_CONVERTER',
    'KAFKA_PRODUCE',
    'KAFKA_CONSUME',
  ])
  expect(Object.keys(STAGE_RULES)).toEqual(STAGES)
})

test('four stages tolerate any exception, the others only what is retriable', () => {
  const any = STAGES.filter(stage => STAGE_RULES[stage].tolerable === 'any-exception')
  expect(any).toEqual(['TRANSFORMATION', 'KEY_CONVERTER', 'VALUE_CONVERTER', 'HEADER_CONVERTER'])
})

test('two stages only report, two are entered by nobody', () => {
  expect(STAGES.filter(stage => STAGE_RULES[stage].reportsOnly)).toEqual(['TASK_PUT', 'KAFKA_PRODUCE'])
  expect(STAGES.filter(stage => STAGE_RULES[stage].pipelines.length === 0)).toEqual(['TASK_POLL', 'KAFKA_CONSUME'])
})
