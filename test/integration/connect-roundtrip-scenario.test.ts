import {join} from 'node:path'
import {expect, inject, test} from 'vitest'
import type {ArchiveRecord} from '../../sandbox/archive-record.ts'
import {startConnect} from '../../sandbox/connect.ts'
import {failSinks, fillTopics} from '../../sandbox/fill.ts'
import {startJavaHelper} from '../../sandbox/java-helper.ts'
import {startKafka} from '../../sandbox/kafka.ts'
import {connectorConfig, type Flow, scenario} from '../../sandbox/scenario.ts'
import {bytesOf, eventually, unique} from '../support/sandbox.ts'

function context(record: ArchiveRecord, name: string): string | undefined {
  const header = record.headers.findLast(([header]) => header === `__connect.errors.${name}`)
  return header === undefined ? undefined : bytesOf(header[1])?.toString('utf8')
}

/** `partition@offset stage` of every record that the scenario lets die; offsets count within a partition. */
function planned(flow: Flow): string[] {
  const next = new Map<number, number>()
  return flow.records.flatMap(({record, stage}) => {
    const partition = record.partition ?? -1
    const offset = next.get(partition) ?? 0
    next.set(partition, offset + 1)
    return stage === null ? [] : [`${flow.topic} ${partition}@${offset} ${stage}`]
  })
}

test('the sandbox’s sinks fail on exactly the planned records, and on none when the fault is removed', async () => {
  const dir = join(inject('kafkaDir'), unique('sandbox'))
  await using kafka = await startKafka({version: '4.4.0', dir})
  const {bootstrapServers} = kafka
  await using connect = await startConnect({version: '4.4.0', dir: join(dir, 'connect'), bootstrapServers})
  await using helper = startJavaHelper(kafka.libs, bootstrapServers)
  const flows = scenario()
  const outputDir = join(dir, 'processed')
  await fillTopics(helper, flows)
  await failSinks(helper, connect, flows, outputDir)

  for (const flow of flows) {
    const dead = await helper.consume(flow.dlq)
    const places = dead.map(record => {
      const [topic, partition, offset, stage] = ['topic', 'partition', 'offset', 'stage'].map(name =>
        context(record, name),
      )
      return `${topic} ${partition}@${offset} ${stage}`
    })
    expect(places.sort()).toEqual(planned(flow).sort())
  }

  const [orders] = flows
  if (orders === undefined) throw new Error('the scenario is empty')
  const depth = orders.records.filter(({stage}) => stage !== null).length
  await connect.putConnector(orders.connector, connectorConfig(orders, outputDir, true))
  const poison = orders.records.filter(({stage}) => stage !== null).map(({record}) => record)
  await helper.produce(poison)
  await eventually('the mended sink is at the end', async () => {
    const ends = await helper.endOffsets(orders.topic)
    const total = ends.reduce((sum, end) => sum + Number(end), 0)
    const committed = await helper.committedOffsets(`connect-${orders.connector}`)
    const consumed = committed
      .filter(({topic}) => topic === orders.topic)
      .reduce((sum, each) => sum + Number(each.offset), 0)
    return consumed === total ? true : null
  })
  expect((await helper.consume(orders.dlq)).length).toBe(depth)
})
