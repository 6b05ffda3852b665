import {expect, test} from 'vitest'
import {connectorConfig, deadLetterCount, scenario} from '../../../sandbox/scenario.ts'

test('makes the same records every time', () => {
  expect(scenario()).toEqual(scenario())
})

test('lets some records of each flow die, and covers every stage', () => {
  const flows = scenario()
  expect(flows.map(flow => [flow.dlq, deadLetterCount(flow)])).toEqual([
    ['orders-dlq', 42],
    ['payments-dlq', 20],
    ['customers-dlq', 12],
    ['inventory-dlq', 12],
  ])
  const stages = new Set(flows.flatMap(({records}) => records.map(({stage}) => stage)))
  expect([...stages].map(String).sort()).toEqual(
    ['HEADER_CONVERTER', 'KEY_CONVERTER', 'TASK_PUT', 'TRANSFORMATION', 'VALUE_CONVERTER', 'null'].sort(),
  )
})

test('a mended sink has bytes for converters, and neither transformations nor rules', () => {
  for (const flow of scenario()) {
    const config = connectorConfig(flow, '/out', true)
    expect(Object.keys(config).filter(key => key.startsWith('transforms') || key === 'sink.reject')).toEqual([])
    expect(config['value.converter']).toBe('org.apache.kafka.connect.converters.ByteArrayConverter')
  }
})
