import {expect, test} from 'vitest'
import {dlqProducerProperties} from '../../../src/lib/connect-engine/client-properties.ts'
import {deadLetterProducerSettings} from '../../../src/lib/connect-engine/dead-letter-settings.ts'

const worker = {'bootstrap.servers': 'broker:9092'}

test('without overrides: one request in flight, retries for ever', () => {
  const properties = dlqProducerProperties({connector: 'job', task: 0, properties: {}, worker})
  expect(deadLetterProducerSettings(properties)).toEqual({maxInFlight: 1, deliveryTimeoutMs: 2_147_483_647})
})

test("the worker's producer settings count, and the connector's win", () => {
  const properties = dlqProducerProperties({
    connector: 'job',
    task: 0,
    worker: {...worker, 'producer.compression.type': 'lz4', 'producer.max.request.size': '2000000'},
    properties: {
      'producer.override.compression.type': 'zstd',
      'producer.override.max.in.flight.requests.per.connection': ' 5 ',
    },
  })
  expect(deadLetterProducerSettings(properties)).toEqual({
    maxInFlight: 5,
    maxRequestBytes: 2_000_000,
    compression: 'zstd',
    deliveryTimeoutMs: 2_147_483_647,
  })
})

test.each([
  ['max.in.flight.requests.per.connection', '0', 'Value must be at least 1'],
  ['max.request.size', '-1', 'Value must be at least 0'],
  ['delivery.timeout.ms', '2147483648', 'Not a number of type INT'],
  ['delivery.timeout.ms', '1e3', 'Not a number of type'],
  ['compression.type', 'brotli', 'String must be one of: none, gzip, snappy, lz4, zstd'],
])("%s=%s is refused with Kafka's message", (key, text, why) => {
  expect(() => deadLetterProducerSettings({[key]: text})).toThrow(
    `Invalid value ${text} for configuration ${key}: ${why}`,
  )
})
