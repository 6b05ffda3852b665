import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {startJavaHelper} from '../../sandbox/java-helper.ts'
import type {JavaHelper} from '../../sandbox/java-helper.ts'
import {startKafka} from '../../sandbox/kafka.ts'
import type {Kafka, KafkaOptions} from '../../sandbox/kafka.ts'
import {systemClock} from '../../src/lib/clock.ts'
import {isKdlqError} from '../../src/lib/errors.ts'
import {clusterOver} from '../../src/lib/kafka/client/cluster.ts'
import type {KafkaCluster} from '../../src/lib/kafka/client/index.ts'
import {createKafkaTransport} from '../../src/lib/kafka/client/kafkajs-transport.ts'
import {Secret} from '../../src/lib/kafka/client/security.ts'
import type {OutgoingBatch, TransactionOptions, TransactionSession} from '../../src/lib/kafka/ports.ts'
import {addPartitionsToTxnApi} from '../../src/lib/kafka/protocol/generated/add-partitions-to-txn.ts'
import {endTxnApi} from '../../src/lib/kafka/protocol/generated/end-txn.ts'
import {initProducerIdApi} from '../../src/lib/kafka/protocol/generated/init-producer-id.ts'
import {produceApi} from '../../src/lib/kafka/protocol/generated/produce.ts'
import {RecordBatchBuilder} from '../../src/lib/kafka/records/batch-builder.ts'
import {recordsIn} from '../../src/lib/kafka/records/records-in.ts'
import {connectPlain, plainConfig, readAll, sorted, wholeTopic} from '../support/kafka-client.ts'
import {lossyTransport} from '../support/lossy-transport.ts'
import type {LossyTransport} from '../support/lossy-transport.ts'
import {bytesOf, eventually, inOrder, unique} from '../support/sandbox.ts'

interface BrokerCase {
  readonly name: string
  readonly protocol: 1 | 2
  readonly options: Pick<KafkaOptions, 'version' | 'features'>
}

const CASES: readonly BrokerCase[] = [
  {name: '4.4.0', protocol: 2, options: {version: '4.4.0'}},
  {
    name: '4.4.0-transaction.version-1',
    protocol: 1,
    options: {version: '4.4.0', features: {'transaction.version': 1}},
  },
  {name: '3.9.2', protocol: 1, options: {version: '3.9.2'}},
]

/** Coordinators look for transactions that are too old so often. */
const TIMEOUT_SCAN_MS = 500

function batch(topic: string, partition: number, ...values: readonly string[]): OutgoingBatch {
  const records = new RecordBatchBuilder()
  for (const value of values) {
    records.append({timestamp: 1_700_000_000_000n, key: Buffer.from('k'), value: Buffer.from(value), headers: []})
  }
  return {topic, partition, records}
}

describe.each(CASES)('$name', ({name, protocol, options}) => {
  let kafka: Kafka
  let java: JavaHelper
  let lossy: LossyTransport
  let cluster: KafkaCluster

  beforeAll(async () => {
    kafka = await startKafka({
      ...options,
      dir: join(inject('kafkaDir'), `transactions-${name}`),
      extraListeners: {RIGHTS: {protocol: 'SASL_PLAINTEXT', mechanisms: ['PLAIN'], users: {guest: 'guest-secret'}}},
      configs: {
        'transaction.abort.timed.out.transaction.cleanup.interval.ms': String(TIMEOUT_SCAN_MS),
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
        // A broker that was killed is let in again once the session of its former life has run out.
        'broker.session.timeout.ms': '3000',
        'broker.heartbeat.interval.ms': '500',
      },
    })
    java = startJavaHelper(kafka.libs, kafka.bootstrapServers)
    lossy = lossyTransport(createKafkaTransport(plainConfig(kafka.bootstrapServers)))
    await lossy.transport.connect()
    cluster = clusterOver({transport: lossy.transport, clock: systemClock, name: 'lossy', clusterId: null})
  })

  afterAll(async () => {
    await cluster.close()
    await java.close()
    await kafka.stop()
  })

  async function newTopic(what: string, partitions = 1, configs: Record<string, string> = {}): Promise<string> {
    const topic = unique(what)
    await cluster.admin.createTopic({name: topic, partitions, replicationFactor: -1, configs})
    return topic
  }

  function open(other: Partial<TransactionOptions> = {}): Promise<TransactionSession> {
    return cluster.writer.openTransactional({
      transactionalId: unique('kdlq'),
      compression: 'none',
      deliveryTimeoutMs: 60_000,
      transactionTimeoutMs: 15_000,
      ...other,
    })
  }

  async function write(session: TransactionSession, ...batches: readonly OutgoingBatch[]): Promise<void> {
    const results = await session.produce(batches)
    expect(results.map(({error}) => error)).toEqual(batches.map(() => null))
  }

  /** Values that Kafka's own consumer sees with read_committed; our reader has to see the same. */
  async function committed(topic: string, partitions = 1): Promise<(string | undefined)[]> {
    const theirs = inOrder(await java.consume(topic, 'read_committed')).map(({value}) => bytesOf(value)?.toString())
    const {records} = await readAll(cluster, await wholeTopic(cluster, topic, partitions))
    expect(sorted(records).map(({value}) => value?.toString())).toEqual(theirs)
    return theirs
  }

  test('what is committed is seen, what is aborted is not', async () => {
    const topic = await newTopic('visible', 2)
    await using session = await open({compression: 'zstd'})
    expect(session.protocol).toBe(protocol)
    for (const round of [1, 2, 3, 4]) {
      session.begin()
      await write(session, batch(topic, 0, `${round}a`, `${round}b`), batch(topic, 1, `${round}c`))
      await write(session, batch(topic, 0, `${round}d`))
      expect(await committed(topic, 2)).toEqual(round < 3 ? [] : ['2a', '2b', '2d', '2c'])
      await (round % 2 === 0 ? session.commit() : session.abort())
      await eventually('the markers are written', async () => {
        const ends = await java.endOffsets(topic, 'read_committed')
        return ends.join() === (await java.endOffsets(topic, 'read_uncommitted')).join() ? true : null
      })
    }
    expect(await committed(topic, 2)).toEqual(['2a', '2b', '2d', '4a', '4b', '4d', '2c', '4c'])
    expect(await java.consume(topic, 'read_uncommitted')).toHaveLength(16)
  })

  test('a refused batch is data: its sequence is used again, and the same transaction commits', async () => {
    const topic = await newTopic('refused', 2, {'max.message.bytes': '2000', 'cleanup.policy': 'compact'})
    await using session = await open()
    // A leader that does not know the new topic yet leaves a doubt about the first attempt.
    session.begin()
    await write(session, batch(topic, 0, 'first'), batch(topic, 1, 'first'))
    await session.commit()
    const large = batch(topic, 0, 'x'.repeat(5_000))
    const keyless = batch(topic, 1, 'keyed')
    keyless.records.append({timestamp: 1_700_000_000_000n, key: null, value: Buffer.from('keyless'), headers: []})
    session.begin()
    for (const first of [true, false]) {
      expect(await session.produce([large, keyless])).toMatchObject([
        {error: {code: 'E_MESSAGE_TOO_LARGE'}},
        {error: {code: 'E_INVALID_RECORD'}, recordErrors: [{index: 1}]},
      ])
      await write(session, batch(topic, 0, `small ${first}`), batch(topic, 1, `keyed ${first}`))
    }
    await session.commit()
    // A transaction of nothing but refused batches leaves nothing open.
    session.begin()
    expect(await session.produce([large])).toMatchObject([{error: {code: 'E_MESSAGE_TOO_LARGE'}}])
    await session.commit()
    session.begin()
    expect(await session.produce([batch(topic, 7, 'nowhere')])).toMatchObject([
      {error: {code: 'E_UNKNOWN_TOPIC_OR_PARTITION'}},
    ])
    await session.commit()
    session.begin()
    await write(session, batch(topic, 0, 'last'))
    await session.commit()
    await expect
      .poll(() => committed(topic, 2), {timeout: 10_000})
      .toEqual(['first', 'small true', 'small false', 'last', 'first', 'keyed true', 'keyed false'])
    const states = await cluster.admin.transactionsOf(session.producerId)
    expect(states.map(({state}) => state)).not.toContain('Ongoing')
  })

  test('the second open of an id fences the first: open, idle, or at its commit', async () => {
    const topic = await newTopic('fenced')
    const transactionalId = unique('kdlq')
    const first = await open({transactionalId})
    first.begin()
    await write(first, batch(topic, 0, 'lost 1'))
    const second = await open({transactionalId})
    await expect(first.produce([batch(topic, 0, 'never')])).rejects.toMatchObject({
      code: 'E_FENCED',
      message: 'another process took over this run',
    })
    await first.close()
    second.begin()
    await write(second, batch(topic, 0, 'lost 2'))
    const third = await open({transactionalId})
    await expect(second.commit()).rejects.toMatchObject({code: 'E_FENCED'})
    third.begin()
    await write(third, batch(topic, 0, 'kept'))
    await third.commit()
    const fourth = await open({transactionalId})
    third.begin()
    await expect(third.produce([batch(topic, 0, 'never')])).rejects.toMatchObject({code: 'E_FENCED'})
    await fourth.close()
    expect(await committed(topic)).toEqual(['kept'])
  })

  test('lost answers: to opening, adding, writing, committing and aborting', async () => {
    const topic = await newTopic('lost')
    lossy.lose(initProducerIdApi)
    await using session = await open()
    session.begin()
    lossy.lose(addPartitionsToTxnApi, protocol === 1 ? 1 : 0)
    lossy.lose(produceApi, 2)
    const [result] = await session.produce([batch(topic, 0, 'a', 'b')])
    expect(result).toMatchObject({error: null, baseOffset: 0n})
    lossy.lose(endTxnApi, 2)
    await session.commit()
    session.begin()
    await write(session, batch(topic, 0, 'aborted'))
    lossy.lose(endTxnApi)
    await session.abort()
    session.begin()
    await write(session, batch(topic, 0, 'c'))
    await session.commit()
    await expect.poll(() => committed(topic), {timeout: 10_000}).toEqual(['a', 'b', 'c'])
  })

  test('an unknown end is settled by the next open', async () => {
    const topic = await newTopic('unsettled')
    const transactionalId = unique('kdlq')
    const first = await open({transactionalId, deliveryTimeoutMs: 1_000})
    first.begin()
    await write(first, batch(topic, 0, 'committed'))
    lossy.lose(endTxnApi, 1_000)
    await expect(first.commit()).rejects.toMatchObject({code: 'E_TRANSACTION_UNSETTLED', exitCode: 5})
    lossy.lose(endTxnApi, 0)
    await using second = await open({transactionalId})
    expect(await committed(topic)).toEqual(['committed'])
    second.begin()
    await write(second, batch(topic, 0, 'next'))
    await second.commit()
    await expect.poll(() => committed(topic), {timeout: 10_000}).toEqual(['committed', 'next'])
  })

  test.each([
    ['produce', 'E_TRANSACTION_TIMED_OUT'],
    ['commit', 'E_TRANSACTION_TIMED_OUT'],
    ['abort', null],
  ] as const)('longer than its timeout: %s', async (step, code) => {
    const topic = await newTopic('timeout')
    const transactionalId = unique('kdlq')
    const session = await open({transactionalId, transactionTimeoutMs: 600})
    session.begin()
    await write(session, batch(topic, 0, 'too late'))
    await eventually('the coordinator aborts it', async () => {
      const [found] = await cluster.admin.transactionsOf(session.producerId)
      return found?.state === 'CompleteAbort' ? found : null
    })
    const steps = {
      produce: () => session.produce([batch(topic, 0, 'x')]),
      commit: () => session.commit(),
      abort: () => session.abort(),
    }
    const told = await steps[step]().then(
      () => null,
      (error: unknown) => (isKdlqError(error) ? error.code : error),
    )
    expect(told).toBe(code)
    await session.abort()
    await session.close()
    await using next = await open({transactionalId})
    next.begin()
    await write(next, batch(topic, 0, 'again'))
    await next.commit()
    await expect.poll(() => committed(topic), {timeout: 10_000}).toEqual(['again'])
  })

  test('timed out, then taken over: the old process is told of the twin, not of the timeout', async () => {
    const topic = await newTopic('taken')
    const transactionalId = unique('kdlq')
    const old = await open({transactionalId, transactionTimeoutMs: 600})
    old.begin()
    await write(old, batch(topic, 0, 'too late'))
    await eventually('the coordinator aborts it', async () => {
      const [found] = await cluster.admin.transactionsOf(old.producerId)
      return found?.state === 'CompleteAbort' ? found : null
    })
    await using twin = await open({transactionalId})
    await expect(old.commit()).rejects.toMatchObject({code: 'E_FENCED'})
    twin.begin()
    await write(twin, batch(topic, 0, 'twin'))
    await twin.commit()
    await expect.poll(() => committed(topic), {timeout: 10_000}).toEqual(['twin'])
  })

  test('a broker that is killed in the middle: before a write, and before the commit', async () => {
    const topic = await newTopic('restart')
    await using session = await open({transactionTimeoutMs: 240_000, deliveryTimeoutMs: 120_000})
    const restart = async (work: () => Promise<void>): Promise<void> => {
      await kafka.kill()
      await Promise.all([work(), kafka.brokers[0]?.start()])
    }
    session.begin()
    await write(session, batch(topic, 0, 'a'))
    await restart(() => write(session, batch(topic, 0, 'b')))
    await restart(() => session.commit())
    session.begin()
    await write(session, batch(topic, 0, 'c'))
    await session.commit()
    await expect.poll(() => committed(topic), {timeout: 20_000}).toEqual(['a', 'b', 'c'])
  }, 300_000)

  test('who holds a transaction open is found at the leader and at the coordinator', async () => {
    const topic = await newTopic('holder', 2)
    const transactionalId = unique('kdlq')
    await using session = await open({transactionalId})
    expect(await cluster.admin.activeProducers(topic, 1)).toEqual([])
    session.begin()
    await write(session, batch(topic, 1, 'a'))
    expect(await cluster.admin.activeProducers(topic, 1)).toMatchObject([
      {producerId: session.producerId, transactionStartOffset: 0n},
    ])
    expect(await cluster.admin.transactionsOf(session.producerId)).toMatchObject([
      {transactionalId, state: 'Ongoing', producerId: session.producerId, timeoutMs: 15_000},
    ])
    await session.abort()
    await expect
      .poll(async () => (await cluster.admin.activeProducers(topic, 1))[0]?.transactionStartOffset, {timeout: 10_000})
      .toBeNull()
  })

  test('reading up to the high watermark waits for a foreign transaction that is open below it', async () => {
    const topic = await newTopic('stable')
    const foreign = unique('foreign')
    const record = (value: string) => [{topic, partition: 0, timestamp: null, key: null, value, headers: []}]
    await using session = await open()
    const ours = async (value: string): Promise<void> => {
      session.begin()
      await write(session, batch(topic, 0, value))
      await session.commit()
    }
    await ours('before')
    await java.transactions([
      {id: foreign, do: 'begin'},
      {id: foreign, do: 'send', records: record('foreign')},
    ])
    await ours('behind')
    const ranges = await wholeTopic(cluster, topic, 1, 'latest')
    const read = {ranges, isolationLevel: 'read_committed', order: 'arrival'} as const
    const values: (string | undefined)[] = []
    const notices: unknown[] = []
    for await (const block of cluster.reader.read({...read, waitForStableMs: 800})) {
      for (const cursor of recordsIn(block)) values.push(cursor.toRecord(topic, 0).value?.toString())
      notices.push(...block.notices)
    }
    expect(values).toEqual(['before'])
    expect(notices).toMatchObject([{kind: 'incomplete', at: 2n, reason: 'open-transaction'}])
    const [holder] = (await cluster.admin.activeProducers(topic, 0)).filter(
      ({transactionStartOffset}) => transactionStartOffset !== null,
    )
    expect(await cluster.admin.transactionsOf(holder?.producerId ?? -1n)).toMatchObject([{transactionalId: foreign}])

    const waiting = readAll(cluster, ranges, 'read_committed')
    await java.transactions([
      {id: foreign, do: 'commit'},
      {id: foreign, do: 'close'},
    ])
    const {records, notices: none, blocks} = await waiting
    expect(none).toEqual([])
    expect(records.map(({value}) => value?.toString())).toEqual(['before', 'foreign', 'behind'])
    expect(blocks.at(-1)).toMatchObject({done: true, nextOffset: ranges[0]?.to})
  })

  test('no right to the transactional id: the ACL and the other mode are named', async () => {
    const sasl = {mechanism: 'PLAIN', username: 'guest', password: new Secret('guest-secret')} as const
    await using guest = await connectPlain(kafka.listeners['RIGHTS'] ?? '', {config: {sasl}})
    const transactionalId = unique('kdlq')
    await expect(
      guest.writer.openTransactional({
        transactionalId,
        compression: 'none',
        deliveryTimeoutMs: 20_000,
        transactionTimeoutMs: 15_000,
      }),
    ).rejects.toMatchObject({
      code: 'E_TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
      exitCode: 4,
      hints: [
        `grant WRITE and DESCRIBE on TransactionalId \`${transactionalId}\``,
        expect.stringContaining('--delivery at-least-once'),
      ],
    })
  })

  test('a timeout that the brokers do not allow names their setting', async () => {
    await expect(open({transactionTimeoutMs: 99_999_999})).rejects.toMatchObject({
      code: 'E_INVALID_TRANSACTION_TIMEOUT',
      hints: [expect.stringContaining('transaction.max.timeout.ms')],
    })
  })
})
