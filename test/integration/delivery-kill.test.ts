import {join} from 'node:path'
import {describe, expect, inject, test} from 'vitest'
import {startKafka} from '../../sandbox/kafka.ts'
import type {KafkaOptions} from '../../sandbox/kafka.ts'
import {ensureLibs} from '../../sandbox/libs.ts'
import {consoleConsume} from '../../sandbox/tools.ts'
import {killRepeatedly, planKills, tell, tellKills, testRandom} from '../support/delivery-kills.ts'
import {deliveryWorld, expectEachOnce} from '../support/delivery-world.ts'
import {connectPlain} from '../support/kafka-client.ts'

interface BrokerCase {
  readonly name: string
  /** Null = the broker that the tests share. */
  readonly options: Pick<KafkaOptions, 'version' | 'features'> | null
}

const CASES: readonly BrokerCase[] = [
  {name: '4.4.0', options: null},
  {name: '4.4.0-transaction.version-1', options: {version: '4.4.0', features: {'transaction.version': 1}}},
  {name: '3.9.2', options: {version: '3.9.2'}},
]
const RECORDS = 20_000
const KILLS = 20

describe.each(CASES)('$name', ({name, options}) => {
  test('killed at twenty random moments and resumed, a run puts each record there exactly once', async () => {
    const random = testRandom(name)
    await using kafka =
      options === null ? null : await startKafka({...options, dir: join(inject('kafkaDir'), `delivery-${name}`)})
    const bootstrapServers = kafka?.bootstrapServers ?? inject('bootstrapServers')
    const libs = kafka?.libs ?? (await ensureLibs('4.4.0'))
    await using cluster = await connectPlain(bootstrapServers)
    const world = await deliveryWorld(cluster, bootstrapServers, RECORDS)
    const started = performance.now()
    const killed = await killRepeatedly(world, {
      kills: planKills(KILLS, RECORDS, random),
      replay: ['replay', world.dlq, '--rate', '4000/s', '--create-ledger', ...world.ledgerFlags],
    })
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    tellKills(name, killed)
    tell(`${name}: ${seconds} s`)
    const {kills, last} = killed
    const within = kills.filter(({committed}) => committed > 0 && committed < RECORDS)
    const open = kills.filter(kill => kill.open)
    expect(last).toMatchObject({code: 0})
    expect(JSON.parse(last.stdout)).toMatchObject({result: {counts: {selected: RECORDS, replayed: RECORDS}}})
    await expectEachOnce(world, await consoleConsume(libs, {bootstrapServers, topic: world.origin, count: RECORDS}))
    expect(within.length).toBeGreaterThanOrEqual(15)
    expect(open.length).toBeGreaterThanOrEqual(5)
    // What its own predecessor left open is ended, not waited for.
    expect(killed.waits).toEqual([])
  }, 600_000)
})
