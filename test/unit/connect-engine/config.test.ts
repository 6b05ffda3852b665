import {expect, test} from 'vitest'
import {
  type ConnectorProperties,
  parseErrorHandlingConfig,
  validateErrorHandling,
  validateKeys,
  validateTopics,
} from '../../../src/lib/connect-engine/config.ts'
import {CONFIG_DEFINITIONS} from '../../../src/lib/connect-engine/config-definitions.ts'
import {ConfigException} from '../../../src/lib/connect-engine/config-value.ts'
import {JavaException} from '../../../src/lib/connect-engine/errors.ts'

const SINK = {kind: 'sink'} as const

function parse(properties: ConnectorProperties): ReturnType<typeof parseErrorHandlingConfig> {
  return parseErrorHandlingConfig({topics: 't', ...properties}, SINK)
}

function messages(properties: ConnectorProperties, profile: 'P4x' | 'P39' = 'P4x'): Record<string, readonly string[]> {
  return Object.fromEntries(validateErrorHandling(properties, {kind: 'sink', profile}).errors)
}

test('without any errors.* key the defaults are those of Connect', () => {
  const config = parse({})
  expect(config).toMatchObject({
    retryTimeoutMs: 0n,
    retryDelayMaxMs: 60_000n,
    tolerance: 'none',
    logEnable: false,
    logIncludeMessages: false,
    dlqTopicName: '',
    dlqReplicationFactor: 3,
    dlqContextHeaders: false,
    usesDlq: false,
    offersErrantRecordReporter: false,
  })
  expect(CONFIG_DEFINITIONS.map(({order}) => order)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

test('white space around values is no part of them, as Java trims', () => {
  const config = parse({
    'errors.retry.timeout': '\t7 ',
    'errors.tolerance': ' all ',
    'errors.log.enable': ' TRUE',
    'errors.deadletterqueue.topic.name': ' dlq ',
  })
  expect(config).toMatchObject({retryTimeoutMs: 7n, tolerance: 'all', logEnable: true, dlqTopicName: 'dlq'})
  expect(() => parse({'errors.retry.timeout': '\u00a07'})).toThrow(
    'Invalid value \u00a07 for configuration errors.retry.timeout: Not a number of type LONG',
  )
})

test.each([
  ['-9223372036854775808', -(2n ** 63n)],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['+7', 7n],
  ['-0', 0n],
  ['007', 7n],
  ['\u0661\u{ff12}', 12n],
])('errors.retry.timeout=%s is the number that Long.parseLong reads', (text, value) => {
  expect(parse({'errors.retry.timeout': text}).retryTimeoutMs).toBe(value)
})

test.each(['9223372036854775808', '-9223372036854775809', '', '-', '1.5', '1e3', '0x10', '1_000', '10s', '7L'])(
  'errors.retry.timeout=%j is not a number',
  text => {
    const expected = `Invalid value ${text} for configuration errors.retry.timeout: Not a number of type LONG`
    expect(() => parse({'errors.retry.timeout': text})).toThrow(new ConfigException(expected))
    expect(messages({topics: 't', 'errors.retry.timeout': text})).toEqual({'errors.retry.timeout': [expected]})
  },
)

test('no range is enforced: what KIP-298 forbids is accepted', () => {
  const config = parse({
    'errors.retry.timeout': '-5',
    'errors.retry.delay.max.ms': '-1',
    'errors.deadletterqueue.topic.replication.factor': '0',
  })
  expect(config).toMatchObject({retryTimeoutMs: -5n, retryDelayMaxMs: -1n, dlqReplicationFactor: 0})
  expect(() => parse({'errors.deadletterqueue.topic.replication.factor': '32768'})).toThrow('of type SHORT')
})

test('errors.tolerance knows two words, in lower case', () => {
  const expected = 'Invalid value ALL for configuration errors.tolerance: String must be one of: none, all'
  expect(() => parse({'errors.tolerance': 'ALL'})).toThrow(expected)
  expect(messages({topics: 't', 'errors.tolerance': null})).toEqual({
    'errors.tolerance': ['Invalid value null for configuration errors.tolerance: String must be one of: none, all'],
  })
})

test('the first key in the order of Connect is the one that ends parsing; validation names all', () => {
  const wrong = {
    topics: ',',
    'errors.deadletterqueue.topic.replication.factor': '70000',
    'errors.retry.timeout': 'abc',
    'errors.log.enable': 'no',
  }
  expect(() => parse(wrong)).toThrow('errors.retry.timeout')
  expect(() => parse({topics: ',', 'errors.deadletterqueue.topic.replication.factor': 'x'})).toThrow("'topics'")
  expect(Object.keys(messages(wrong))).toEqual([
    'errors.retry.timeout',
    'errors.log.enable',
    'topics',
    'errors.deadletterqueue.topic.replication.factor',
  ])
})

test('a key without a value fails where it is needed, not before', () => {
  const config = parse({'errors.log.enable': null, 'errors.deadletterqueue.topic.name': 'd'})
  expect(config.offersErrantRecordReporter).toBe(true)
  expect(() => config.logEnable).toThrow(JavaException)
  expect(() => validateTopics({topics: 't', 'errors.deadletterqueue.topic.name': null})).toThrow(JavaException)
})

test.each([
  ['d', 'false', true],
  ['d', 'true', true],
  ['', 'true', true],
  ['  ', 'true', true],
  ['', 'false', false],
  ['  ', 'false', false],
])('with queue %j and log %s an errant record reporter is there: %s, whatever the tolerance', (dlq, log, there) => {
  for (const tolerance of ['none', 'all']) {
    const config = parse({
      'errors.deadletterqueue.topic.name': dlq,
      'errors.log.enable': log,
      'errors.tolerance': tolerance,
    })
    expect(config.offersErrantRecordReporter).toBe(there)
    expect(config.usesDlq).toBe(dlq === 'd')
  }
})

test('a source knows no dead letter queue: its keys are ignored, whatever they say', () => {
  const properties = {
    'errors.deadletterqueue.topic.name': 'd',
    'errors.deadletterqueue.topic.replication.factor': 'many',
    topics: ',',
  }
  expect(parseErrorHandlingConfig(properties, {kind: 'source'})).toMatchObject({usesDlq: false, dlqTopicName: ''})
  expect(validateErrorHandling(properties, {kind: 'source'}).errors).toEqual(new Map())
})

const BOTH_SET = 'topics and topics.regex are mutually exclusive options, but both are set.'
const NONE_SET = 'Must configure one of topics or topics.regex'

test('a sink consumes from topics or by a pattern, one of them', () => {
  expect(messages({})).toEqual({topics: [NONE_SET], 'topics.regex': [NONE_SET]})
  expect(messages({topics: ' ', 'topics.regex': ''})).toEqual({topics: [NONE_SET], 'topics.regex': [NONE_SET]})
  expect(messages({topics: 'a', 'topics.regex': 'b'})).toEqual({topics: [BOTH_SET], 'topics.regex': [BOTH_SET]})
})

test('a sink does not consume its own dead letter queue', () => {
  expect(messages({topics: ' a , b ,', 'errors.deadletterqueue.topic.name': ' b '}, 'P39')).toEqual({
    topics: ["The DLQ topic 'b' may not be included in the list of topics ('topics=[a, b]') consumed by the connector"],
  })
  expect(messages({topics: 'T1', 'errors.deadletterqueue.topic.name': 't1'})).toEqual({})
  expect(messages({'topics.regex': 'r.*', 'errors.deadletterqueue.topic.name': 'ruh.roh'})).toEqual({
    'topics.regex': [
      "The DLQ topic 'ruh.roh' may not be matched by the regex for the topics ('topics.regex=r.*') consumed by the connector",
    ],
  })
  expect(messages({'topics.regex': 'r.', 'errors.deadletterqueue.topic.name': 'ruh'})).toEqual({})
})

test('4.2 and later refuse repeated and empty topics; 3.9 does not', () => {
  const repeated = "Configuration 'topics' values must not be duplicated."
  const empty = "Configuration 'topics' values must not be empty."
  expect(messages({topics: 'a,a'})).toEqual({topics: [repeated]})
  expect(messages({topics: 'a,,b'})).toEqual({topics: [empty]})
  expect(messages({topics: ',,'})).toEqual({topics: [repeated]})
  expect(messages({topics: null})).toEqual({
    topics: ["Configuration 'topics' values must not be null.", NONE_SET],
    'topics.regex': [NONE_SET],
  })
  expect(messages({topics: 'a,,a'}, 'P39')).toEqual({})
  expect(parse({topics: 'a, a'}).tolerance).toBe('none')
  expect(() => parse({topics: ',,'})).toThrow(empty)
})

test('a pattern that Java cannot read is an error on its key, and ends the check of a sink with a queue', () => {
  const invalid = {topics: '', 'topics.regex': ' [ '}
  expect(Object.fromEntries(validateKeys(invalid, SINK).errors)).toEqual({
    'topics.regex': [
      'Invalid value [ for configuration topics.regex: Invalid regex: Unclosed character class near index 0\n[\n^',
    ],
  })
  expect(validateTopics(invalid)).toEqual(new Map())
  expect(() => validateTopics({...invalid, 'errors.deadletterqueue.topic.name': 'd'})).toThrow(
    'Unclosed character class near index 2\n [ \n  ^',
  )
})
