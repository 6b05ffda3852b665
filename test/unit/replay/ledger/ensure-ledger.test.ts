import {beforeEach, describe, expect, test} from 'vitest'
import {ConfigError, RefusedError} from '../../../../src/lib/errors.ts'
import {RecordBatchBuilder} from '../../../../src/lib/kafka/records/batch-builder.ts'
import {ensureLedger} from '../../../../src/lib/replay/ledger/ensure-ledger.ts'
import {ledgerPartition, ledgerPartitions} from '../../../../src/lib/replay/ledger/layout.ts'
import type {LedgerTopic} from '../../../../src/lib/replay/ledger/types.ts'
import {partitionForKey} from '../../../../src/lib/replay/murmur2.ts'
import {FakeClock} from '../../../support/fake-clock.ts'
import {FakeBroker} from './fake-broker.ts'

const NAME = 'kdlq-ledger'
const COMPACT = {'cleanup.policy': 'compact', 'max.message.bytes': '1048588'}
let broker: FakeBroker

beforeEach(() => {
  broker = new FakeBroker()
})

function ensure(create: boolean): Promise<LedgerTopic> {
  const clock = new FakeClock({auto: true})
  return ensureLedger({cluster: broker.cluster(), clock}, {name: NAME, create, deliveryTimeoutMs: 1000})
}

async function put(key: string, value: string): Promise<void> {
  const records = new RecordBatchBuilder()
  records.append({timestamp: 0n, key: Buffer.from(key), value: Buffer.from(value), headers: []})
  const session = await broker.cluster().writer.open({compression: 'none', transactionalId: null, deliveryTimeoutMs: 1})
  await session.produce([{topic: NAME, partition: 0, records}])
}

describe('a ledger topic', () => {
  test('is made compacted with 12 partitions and a layout when that is allowed', async () => {
    expect(await ensure(true)).toEqual({
      name: NAME,
      topicId: 'id-of-kdlq-ledger',
      clusterId: 'cluster-1',
      partitions: 12,
      maxMessageBytes: null,
    })
    expect(broker.topics.get(NAME)?.configs).toEqual({'cleanup.policy': 'compact'})
    const [layout] = broker.entries(NAME, 0)
    expect([layout?.key?.toString(), layout?.value?.toString()]).toEqual(['meta|layout', '{"v":1,"partitions":12}'])
    expect(await ensure(false)).toMatchObject({partitions: 12})
  })

  test('that is missing is a refusal that names the flag, and nothing is written', async () => {
    const error: unknown = await ensure(false).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(RefusedError)
    expect(error).toMatchObject({code: 'E_NO_LEDGER', exitCode: 6})
    expect((error as RefusedError).hints.join(' ')).toContain('--create-ledger')
    expect(broker.topics.size).toBe(0)
    expect(broker.requests).toEqual(['topics'])
  })

  test('that is made by two operators at once is right for both', async () => {
    const both = await Promise.all([ensure(true), ensure(true)])
    expect(both[0]).toEqual(both[1])
    expect(broker.entries(NAME, 0).every(({value}) => value?.toString() === '{"v":1,"partitions":12}')).toBe(true)
  })

  test('that is empty is laid out only when that is allowed, with the partitions that it has', async () => {
    broker.addTopic(NAME, 3, COMPACT)
    await expect(ensure(false)).rejects.toMatchObject({code: 'E_NO_LEDGER'})
    expect(broker.entries(NAME, 0)).toEqual([])
    expect(await ensure(true)).toMatchObject({partitions: 3, maxMessageBytes: 1_048_588})
  })

  test.each(['delete', ''])('that has cleanup.policy=%j is refused', async policy => {
    broker.addTopic(NAME, 12, {'cleanup.policy': policy})
    const error: unknown = await ensure(true).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({code: 'E_LEDGER_NOT_COMPACTED'})
  })

  test('that is compacted and deleted is a ledger', async () => {
    broker.addTopic(NAME, 12, {'cleanup.policy': 'compact, delete'})
    await expect(ensure(true)).resolves.toMatchObject({partitions: 12})
  })

  test('that holds records but no layout is somebody else’s', async () => {
    broker.addTopic(NAME, 12, COMPACT)
    await put('customer-1', '{}')
    await expect(ensure(true)).rejects.toMatchObject({code: 'E_LEDGER_LAYOUT', exitCode: 2})
  })

  test('that is laid out by another version is refused', async () => {
    broker.addTopic(NAME, 12, COMPACT)
    await put('meta|layout', '{"v":2,"partitions":12}')
    await expect(ensure(true)).rejects.toMatchObject({code: 'E_LEDGER_LAYOUT'})
  })

  test('with fewer partitions than it was laid out for is refused', async () => {
    broker.addTopic(NAME, 3, COMPACT)
    await put('meta|layout', '{"v":1,"partitions":12}')
    await expect(ensure(true)).rejects.toThrow('laid out for 12 partitions, but has 3')
  })

  test('with more partitions keeps its layout', async () => {
    broker.addTopic(NAME, 24, COMPACT)
    await put('meta|layout', '{"v":1,"partitions":12}')
    await expect(ensure(false)).resolves.toMatchObject({partitions: 12})
  })

  test('that may not be described is told by its own error', async () => {
    broker.gate = async request => {
      if (request === 'topicConfigs') throw new Error('not authorised')
    }
    broker.addTopic(NAME, 12, COMPACT)
    await expect(ensure(false)).rejects.toThrow('not authorised')
  })
})

test('the partition of a topic or run is murmur2 of its name over the layout’s count', () => {
  expect(ledgerPartition({partitions: 12}, 'orders-dlq')).toBe(partitionForKey(Buffer.from('orders-dlq'), 12))
  expect(ledgerPartition({partitions: 12}, null)).toBe(0)
  // Values of Kafka's own Utils.murmur2 test: "foobar" -> -790332482, "21" -> -973932308.
  expect(ledgerPartition({partitions: 12}, 'foobar')).toBe((-790_332_482 & 0x7fff_ffff) % 12)
  expect(ledgerPartition({partitions: 12}, '21')).toBe((-973_932_308 & 0x7fff_ffff) % 12)
  expect(ledgerPartitions({partitions: 1}, ['a', 'b', 'c'])).toEqual([0])
})
