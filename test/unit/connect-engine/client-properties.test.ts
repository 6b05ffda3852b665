import {expect, test} from 'vitest'
import {dlqAdminProperties, dlqProducerProperties} from '../../../src/lib/connect-engine/client-properties.ts'

const worker = {
  'bootstrap.servers': 'worker:9092',
  'group.id': 'g',
  'producer.compression.type': 'lz4',
  'producer.linger.ms': '5',
  'consumer.max.poll.records': '10',
  'admin.request.timeout.ms': '100',
}
const task = {connector: 'job', task: 0, properties: {}, worker: {'bootstrap.servers': 'worker:9092'}}

test('a producer of dead letters keeps one request in flight and never gives up, unless told otherwise', () => {
  expect(dlqProducerProperties(task)).toEqual({
    'bootstrap.servers': 'worker:9092',
    'key.serializer': 'org.apache.kafka.common.serialization.ByteArraySerializer',
    'value.serializer': 'org.apache.kafka.common.serialization.ByteArraySerializer',
    'max.block.ms': '9223372036854775807',
    'enable.idempotence': 'false',
    acks: 'all',
    'max.in.flight.requests.per.connection': '1',
    'delivery.timeout.ms': '2147483647',
    'client.id': 'connector-dlq-producer-job-0',
  })
})

test('the connector wins over the worker, the worker over the defaults', () => {
  const properties = {
    'producer.override.linger.ms': '9',
    'producer.override.max.in.flight.requests.per.connection': '5',
    'producer.override.bootstrap.servers': 'other:9092',
    'producer.override.': 'nothing',
    'producer.linger.ms': 'not a key of connectors',
  }
  const metricsContext = {'metrics.context.connect.group.id': 'g', 'linger.ms': '7'}
  expect(dlqProducerProperties({...task, worker, properties, metricsContext})).toMatchObject({
    'bootstrap.servers': 'other:9092',
    'compression.type': 'lz4',
    'linger.ms': '9',
    'max.in.flight.requests.per.connection': '5',
    'metrics.context.connect.group.id': 'g',
  })
})

test('the admin client takes the own properties of the worker, then admin. and admin.override.', () => {
  const properties = {'admin.override.request.timeout.ms': '7', 'producer.override.linger.ms': '9'}
  expect(dlqAdminProperties({...task, worker, properties})).toEqual({
    'bootstrap.servers': 'worker:9092',
    'client.id': 'connector-dlq-adminclient-job-0',
    'group.id': 'g',
    'request.timeout.ms': '7',
  })
  expect(dlqAdminProperties({...task, worker, properties: {}})).toMatchObject({'request.timeout.ms': '100'})
})

test('until 4.0 the admin clients of all tasks share one id', () => {
  expect(dlqAdminProperties({...task, profile: 'P39'})).toMatchObject({'client.id': 'connector-dlq-adminclient-'})
})

test('the policy of the worker says what a connector may override', () => {
  const policy = (name: string): Record<string, string> => ({'connector.client.config.override.policy': name})
  const properties = {'producer.override.linger.ms': '9', 'producer.override.sasl.mechanism': 'PLAIN'}
  expect(() => dlqProducerProperties({...task, properties, worker: policy('Principal')})).toThrow(
    'producer.override.linger.ms',
  )
  expect(() => dlqProducerProperties({...task, properties, worker: policy('None')})).toThrow('sasl.mechanism')
  const sasl = {'producer.override.sasl.mechanism': 'PLAIN'}
  const name = 'org.apache.kafka.connect.connector.policy.PrincipalConnectorClientConfigOverridePolicy'
  expect(dlqProducerProperties({...task, properties: sasl, worker: policy(name)})).toMatchObject({
    'sasl.mechanism': 'PLAIN',
  })
})
