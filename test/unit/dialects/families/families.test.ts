import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'
import {decodeFailure} from '../../../../src/lib/dialects/decode.ts'
import {lookAlikeOf} from '../../../../src/lib/dialects/families/generic.ts'
import {DIALECTS} from '../../../../src/lib/dialects/registry.ts'
import {parseVectors, runVector, vectorDifferences} from '../../../support/dialect-vectors.ts'
import {recordWith} from '../../../support/records.ts'

const path = new URL('../../../fixtures/dialects/families.jsonl', import.meta.url)
const vectors = parseVectors(readFileSync(path, 'utf8'))

test.each(vectors.map(vector => [vector.id, vector.note, vector] as const))('decodes %s: %s', (_id, _note, vector) => {
  expect(vectorDifferences(vector, runVector(vector))).toEqual([])
})

test('every family has one name, and look-alikes come last', () => {
  const ids = DIALECTS.map(({id}) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(DIALECTS.findIndex(({lastResort}) => lastResort === true)).toBe(ids.length - 1)
})

test('an envelope is the outermost hop, whatever headers stand behind it', () => {
  const value = JSON.stringify({requestContext: {}, KafkaBatchInfo: {}})
  const record = recordWith([['__connect.errors.topic', 'orders']], {value: Buffer.from(value)})
  expect(decodeFailure(record)).toMatchObject({dialect: 'aws-lambda', chain: ['aws-lambda', 'connect'], hops: 2})
})

test('a value far beyond the bound is not parsed', () => {
  const value = Buffer.concat([
    Buffer.from('{"requestContext":{},"KafkaBatchInfo":{},"x":"'),
    Buffer.alloc(16 * 1024 * 1024, 0x61),
    Buffer.from('"}'),
  ])
  expect(decodeFailure(recordWith([], {value})).dialect).toBe('none')
})

test.each([
  [
    'origin.topic',
    ['original-topic', 'x-source-topic', 'dlqSourceTopic', 'origin.topic', 'x_dlq_topic', 'Dead Letter Original Topic'],
  ],
  ['origin.partition', ['originalPartition', 'x-dlq-original-partition']],
  ['origin.offset', ['source_offset', 'X-Original-Offset']],
  ['origin.timestamp', ['x-original-timestamp', 'dlq-original-timestamp']],
  ['exception.class', ['x-error-class', 'errorType', 'x-exception', 'dlq.exception.class']],
  ['exception.message', ['error', 'x-reason', 'dlq-reason', 'xFailureReason']],
  ['exception.stack', ['stack', 'x-stack-trace', 'exception_stacktrace', 'errorStack']],
  ['attempts', ['retries', 'x-retry-count', 'dlq-attempts', 'x-delivery-attempt']],
  ['failedAt', ['failedAt', 'x-failed-timestamp', 'dlq-failure-timestamp']],
  ['group', ['consumer-group', 'x-failed-by', 'xConsumer']],
])('%s is known by its looks: %j', (field, names) => {
  for (const name of names) expect(lookAlikeOf(name)).toBe(field)
})

test.each(['topic', 'x-topic', ' original-topic', 'original-topic ', 'originaltopic', 'message', 'x'.repeat(100)])(
  '%j is not known by its looks',
  name => {
    expect(lookAlikeOf(name)).toBeUndefined()
  },
)
