import {expect, test} from 'vitest'
import {ledgerRetention} from '../../../../src/lib/replay/ledger/retention.ts'
import {FakeBroker} from './fake-broker.ts'

const DAY = 86_400_000

test.each([
  ['a compacted ledger', {'cleanup.policy': 'compact', 'retention.ms': '1'}, DAY, /^$/],
  ['a ledger kept for ever', {'cleanup.policy': 'compact,delete', 'retention.ms': '-1'}, DAY, /^$/],
  [
    'a ledger kept as long',
    {'cleanup.policy': 'compact,delete', 'retention.ms': `${DAY}`, 'retention.bytes': '-1'},
    DAY,
    /^$/,
  ],
  [
    'a ledger kept shorter',
    {'cleanup.policy': 'delete', 'retention.ms': `${DAY - 1}`},
    DAY,
    /keeps entries for 86399999 ms/,
  ],
  ['dead letters kept for ever', {'cleanup.policy': 'delete', 'retention.ms': `${DAY}`}, -1, /keeps records for ever/],
  [
    'a ledger cut by size',
    {'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '5'},
    DAY,
    'retention.bytes',
  ],
])('%s', async (_, configs, lettersMs, refuse) => {
  const broker = new FakeBroker()
  broker.addTopic('kdlq-ledger', 12, configs)
  broker.addTopic('orders-dlq', 1, {'cleanup.policy': 'delete', 'retention.ms': `${lettersMs}`})
  const cluster = broker.cluster()
  const fact = await ledgerRetention({ledger: cluster, dlq: cluster}, 'kdlq-ledger', ['orders-dlq'])
  expect(fact.unknown).toBeNull()
  expect(fact.refuse ?? '').toMatch(refuse)
})

test('compacted dead letters are kept for ever', async () => {
  const broker = new FakeBroker()
  broker.addTopic('kdlq-ledger', 12, {'cleanup.policy': 'compact,delete', 'retention.ms': '1000'})
  broker.addTopic('orders-dlq', 1, {'cleanup.policy': 'compact', 'retention.ms': '1'})
  const cluster = broker.cluster()
  const fact = await ledgerRetention({ledger: cluster, dlq: cluster}, 'kdlq-ledger', ['orders-dlq'])
  expect(fact.refuse).toContain('for ever')
})

test('what cannot be told is unknown', async () => {
  const broker = new FakeBroker()
  const cluster = broker.cluster()
  const missing = await ledgerRetention({ledger: cluster, dlq: cluster}, 'kdlq-ledger', ['orders-dlq'])
  expect(missing).toEqual({refuse: null, unknown: 'retention of kdlq-ledger is not known: unknown topic'})
  broker.addTopic('kdlq-ledger', 12, {'cleanup.policy': 'delete', 'retention.ms': '1000'})
  const letters = await ledgerRetention({ledger: cluster, dlq: cluster}, 'kdlq-ledger', ['orders-dlq'])
  expect(letters).toEqual({refuse: null, unknown: 'retention of orders-dlq is not known: unknown topic'})
})
