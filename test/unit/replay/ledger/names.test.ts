import {expect, test} from 'vitest'
import {
  claimKey,
  entryKey,
  markKey,
  parseLedgerKey,
  runKey,
  sourceRef,
  statusKey,
  transactionalIdOf,
} from '../../../../src/lib/replay/ledger/names.ts'
import {partitionOf, REF, RUN_A} from './support.ts'

const ORDERS = partitionOf()

test('an entry is named by topic id, address and run', () => {
  expect(entryKey(ORDERS, 42n, RUN_A)).toBe(`AAAAAAAAAAAAAAAAAAAAAA|orders-dlq:0:42|${RUN_A}`)
  expect(claimKey(ORDERS, RUN_A)).toBe(`claim|AAAAAAAAAAAAAAAAAAAAAA|orders-dlq:0|${RUN_A}`)
  expect(transactionalIdOf(RUN_A)).toBe(`kdlq-${RUN_A}`)
})

test('a source on another cluster has that cluster in the key', () => {
  const other = {...ORDERS, ...sourceRef('clu/st|er', 'cluster-1', REF.topicId)}
  expect(entryKey(other, 7n, RUN_A)).toBe(`clu%2Fst%7Cer/AAAAAAAAAAAAAAAAAAAAAA|orders-dlq:0:7|${RUN_A}`)
  expect(sourceRef('cluster-1', 'cluster-1', null)).toEqual({clusterId: null, topicId: null})
  expect(sourceRef(null, null, null)).toEqual({clusterId: '-', topicId: null})
  expect(sourceRef('archive:/a b', null, null)).toEqual({clusterId: 'archive:/a b', topicId: null})
})

test.each([
  ['a topic id', ORDERS],
  ['no topic id', {...ORDERS, topicId: null}],
  ['another cluster', {...ORDERS, clusterId: 'archive:/tmp/o|rders.ndjson'}],
  ['a cluster without id', {...ORDERS, clusterId: '-'}],
  ['a topic name that Kafka does not allow', {...ORDERS, topic: 'a:b|c/%20 ü'}],
  ['the largest partition', {...ORDERS, partition: 2 ** 31 - 1}],
])('keys with %s are read back', (_, source) => {
  expect(parseLedgerKey(entryKey(source, 9_223_372_036_854_775_807n, RUN_A))).toEqual({
    kind: 'entry',
    source,
    offset: 9_223_372_036_854_775_807n,
    run: RUN_A,
  })
  expect(parseLedgerKey(claimKey(source, RUN_A))).toEqual({kind: 'claim', source, run: RUN_A})
})

test('run keys are told apart', () => {
  expect(parseLedgerKey(runKey(RUN_A, 12))).toEqual({kind: 'run', run: RUN_A, piece: 12})
  expect(parseLedgerKey(statusKey(RUN_A))).toEqual({kind: 'status', run: RUN_A})
  expect(parseLedgerKey(markKey(RUN_A))).toEqual({kind: 'mark', run: RUN_A})
  expect(parseLedgerKey('meta|layout')).toEqual({kind: 'layout'})
})

test.each([
  '',
  'orders-dlq:0:42',
  '|||',
  'a|b|c|d',
  'run|r|x',
  'run|r|-1',
  'run||0',
  `run|${'r'.repeat(101)}|0`,
  'AAAA|orders-dlq:0|r-1',
  'AAAA|orders-dlq:0:9223372036854775808|r-1',
  'AAAA|orders-dlq:00:1|r-1',
  'AAAA|orders-dlq:2147483648:1|r-1',
  'AAAA|orders-dlq:0:+1|r-1',
  'AAAA|:0:1|r-1',
  'AA AA|orders-dlq:0:1|r-1',
  '/AAAA|orders-dlq:0:1|r-1',
  '%zz/AAAA|orders-dlq:0:1|r-1',
  'AAAA|orders%2Ddlq:0:1|r-1',
  'claim|AAAA|orders-dlq|r-1',
  'claim|AAAA|orders-dlq:0|r 1',
  `AAAA|${'t'.repeat(5000)}:0:1|r-1`,
])('foreign key %j is nothing', key => {
  expect(parseLedgerKey(key)).toBeNull()
})
