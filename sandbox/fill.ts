import {setTimeout as sleep} from 'node:timers/promises'
import type {ConnectClient} from './connect.ts'
import type {JavaHelper} from './java-helper.ts'
import {SandboxError} from './paths.ts'
import {connectorConfig, deadLetterCount, type Flow} from './scenario.ts'

/** Create a flow's topic and dead letter queue and write its records. */
export async function fillTopics(helper: JavaHelper, flows: readonly Flow[]): Promise<void> {
  for (const flow of flows) {
    await helper.createTopic(flow.topic, {partitions: flow.partitions})
    await helper.createTopic(flow.dlq, {partitions: flow.dlqPartitions})
    await helper.produce(flow.records.map(({record}) => record))
  }
}

/**
 * Start the failing sinks and wait until all planned dead letters are there.
 * @throws SandboxError when a queue does not hold exactly the planned number within two minutes
 */
export async function failSinks(
  helper: JavaHelper,
  connect: ConnectClient,
  flows: readonly Flow[],
  outputDir: string,
): Promise<void> {
  for (const flow of flows) await connect.putConnector(flow.connector, connectorConfig(flow, outputDir, false))
  const deadline = Date.now() + 120_000
  for (const flow of flows) {
    const expected = deadLetterCount(flow)
    for (;;) {
      const depth = await depthOf(helper, flow.dlq)
      if (depth === expected) break
      if (Date.now() > deadline) throw new SandboxError(`${flow.dlq} holds ${depth} records, not ${expected}`)
      await sleep(100)
    }
  }
}

/** Sum of a topic's end offsets: its number of records as long as nothing was deleted or written in transactions. */
export async function depthOf(helper: JavaHelper, topic: string): Promise<number> {
  const ends = await helper.endOffsets(topic)
  return ends.reduce((total, offset) => total + Number(offset), 0)
}
