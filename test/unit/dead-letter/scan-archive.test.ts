import {readdirSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'
import {freezeSelection} from '../../../src/lib/dead-letter/freeze.ts'
import {scanRecords} from '../../../src/lib/dead-letter/scan-records.ts'
import {scanDeadLetters} from '../../../src/lib/dead-letter/scan.ts'
import {openArchive} from '../../../src/lib/kafka/archive/index.ts'
import type {Cluster} from '../../../src/lib/kafka/ports.ts'
import {compileFilters} from '../../../src/lib/select/compile.ts'
import type {FilterSpec} from '../../../src/lib/select/filter-spec.ts'
import {selectAll, type Selection} from '../../../src/lib/select/selection.ts'
import {CONNECT_TOPICS, connectExpected, type ConnectTopic} from '../../support/connect-fixtures.ts'
import {FakeClock} from '../../support/fake-clock.ts'

const folder = fileURLToPath(new URL('../../fixtures/connect/', import.meta.url))
const deps = {clock: new FakeClock(), readBaseline: () => Promise.resolve([])}

/** Counts by both ways to scan. */
async function countIn(cluster: Cluster, topic: ConnectTopic, other: Partial<Selection>): Promise<number> {
  const selection = {...selectAll([{kind: 'all'}]), ...other}
  const frozen = await freezeSelection(cluster, selection, deps)
  let letters = 0
  for await (const letter of scanDeadLetters(cluster, frozen, await compileFilters(frozen.filters))) {
    if (letter.record.topic === topic) letters += 1
  }
  let matches = 0
  for await (const block of scanRecords(cluster, frozen, await compileFilters(frozen.filters))) {
    for (const match of block.matches()) if (match.cursor.headerCount >= 0) matches += 1
  }
  expect(matches).toBe(letters)
  return letters
}

function fileOf(topic: string): string {
  const name = readdirSync(folder).find(file => file === `${topic}.ndjson` || file === `${topic}.ndjson.gz`)
  return `${folder}${name ?? ''}`
}

const including = (include: FilterSpec['include']): Partial<Selection> => ({filters: {include, exclude: {}}})

test.each(CONNECT_TOPICS)('%s: filters find what Connect was made to write', async topic => {
  const expected = connectExpected(topic)
  await using cluster = await openArchive(fileOf(topic))
  const count = (other: Partial<Selection>): Promise<number> => countIn(cluster, topic, other)
  expect(await count({})).toBe(expected.records)
  for (const [stage, records] of Object.entries(expected.byStage)) {
    expect([stage, await count(including({stage: [stage]}))]).toEqual([stage, records])
  }
  for (const [name, records] of Object.entries(expected.byException)) {
    const where = [`failure.exception.class == "${name}"`]
    expect([name, await count(including({where}))]).toEqual([name, records])
    // The filter also looks at root causes, so it may find more.
    const rest = {filters: {include: {exception: [name]}, exclude: {where}}}
    expect([name, (await count(including({exception: [name]}))) - (await count(rest))]).toEqual([name, records])
  }
  for (const [connector, records] of Object.entries(expected.byConnector)) {
    expect([connector, await count(including({connector: [connector]}))]).toEqual([connector, records])
  }
  for (const [partition, records] of Object.entries(expected.byPartition)) {
    const number = Number(partition)
    expect([partition, await count({partitions: [[number, number]]})]).toEqual([partition, records])
  }
})
