import {fileURLToPath} from 'node:url'
import {describe, expect, inject, test} from 'vitest'
import {connectExpected, connectFile, CONNECT_TOPICS, type ExpectedTopic} from '../support/connect-fixtures.ts'
import {kdlq, unique} from '../support/sandbox.ts'

const bootstrapServers = inject('bootstrapServers')

interface Coordinates {
  readonly topic: string
  readonly partition: number
  readonly offset: string
}

interface Inspected {
  readonly partition: number
  readonly key: unknown
  readonly value: unknown
  readonly headers: readonly (readonly [string, unknown])[]
  readonly failure: {
    readonly dialect: string
    readonly stage?: string
    readonly connector?: string
    readonly component?: string
    readonly origin?: Coordinates
    readonly last?: Coordinates
    readonly exception?: {readonly class?: string; readonly message?: string}
  }
}

function tally(values: readonly (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) if (value !== undefined) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

/** The ground truth's counts, from what `inspect --json` says. */
function countsOf(records: readonly Inspected[]) {
  const newest = records.map(({failure}) => failure.last ?? failure.origin)
  const described = records.filter(({failure}) => failure.dialect === 'connect')
  const copies = tally(newest.map(at => at && `${at.topic}-${at.partition}@${at.offset}`))
  return {
    records: records.length,
    byPartition: tally(records.map(({partition}) => String(partition))),
    byStage: tally(records.map(({failure}) => failure.stage)),
    byException: tally(records.map(({failure}) => failure.exception?.class)),
    byConnector: tally(records.map(({failure}) => failure.connector)),
    byClass: tally(records.map(({failure}) => failure.component)),
    byOrigin: tally(newest.map(at => at && `${at.topic}-${at.partition}`)),
    withoutContextHeaders: records.length - described.length,
    withoutExceptionHeaders: described.filter(({failure}) => failure.exception === undefined).length,
    nullExceptionMessage: records.filter(({failure, headers}) => {
      const last = headers.findLast(([name]) => name === '__connect.errors.exception.message')
      return last !== undefined && last[1] === null && failure.exception?.message === undefined
    }).length,
    nullKeys: records.filter(({key}) => key === null).length,
    nullValues: records.filter(({value}) => value === null).length,
    repeatedOrigins: Object.fromEntries(Object.entries(copies).filter(([, count]) => count > 1)),
  }
}

function truth(expected: ExpectedTopic): ReturnType<typeof countsOf> {
  const {setsOfContextHeaders: _sets, ...counts} = expected
  return Object.fromEntries(Object.keys(countsOf([])).map(name => [name, counts[name as keyof typeof counts]])) as never
}

async function inspect(source: string): Promise<readonly Inspected[]> {
  const {stdout} = await kdlq(bootstrapServers, 0, 'inspect', source, '--json')
  return (JSON.parse(stdout) as {result: {records: Inspected[]}}).result.records
}

describe('dead letters of a real Connect worker count as they were made', () => {
  test.each(CONNECT_TOPICS)('%s, from the file and from a broker after import', async topic => {
    const file = fileURLToPath(connectFile(topic))
    const expected = truth(connectExpected(topic))
    expect(countsOf(await inspect(file))).toEqual(expected)
    const copy = unique(topic)
    await kdlq(bootstrapServers, 0, 'import', file, '--topic', copy, '--create', '--keep-partition', '--yes')
    expect(countsOf(await inspect(copy))).toEqual(expected)
    const {stdout} = await kdlq(bootstrapServers, 0, 'stats', copy, '--by', 'stage', '--json')
    const {groups} = (JSON.parse(stdout) as {result: {groups: {by: {stage: string | null}; count: number}[]}}).result
    const staged = groups.filter(({by}) => by.stage !== null).map(({by, count}) => [by.stage, count])
    expect(Object.fromEntries(staged)).toEqual(expected.byStage)
  })
})
