import {randomBytes} from 'node:crypto'
import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, inject, test} from 'vitest'
import {kdlq, root} from '../cli/support/kdlq.ts'

// The broker is shared with other tests.
const prefix = `program-${randomBytes(4).toString('hex')}`
const env = {KDLQ_BOOTSTRAP_SERVER: inject('bootstrapServers')}

interface ArchiveLine {
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly timestamp: string
  readonly timestampType: string
  readonly key: unknown
  readonly value: unknown
  readonly headers: unknown
}

const linesOf = (text: string): ArchiveLine[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as ArchiveLine)

/** What has to be equal whatever the topic and however its offsets are numbered. */
const contentOf = ({partition, timestamp, key, value, headers}: ArchiveLine) => ({
  partition,
  timestamp,
  key,
  value,
  headers,
})

describe('commands on a real broker', () => {
  test('an imported archive reads back as it was: by inspect, by stats, by export', async () => {
    const topic = `${prefix}-payments-dlq`
    const source = 'example:payments-dlq'
    const archive = await readFile(join(root, 'examples/payments-dlq.ndjson'), 'utf8')
    const dryRun = await kdlq(['import', source, '--topic', topic, '--create', '--keep-partition', '--dry-run'], {env})
    expect(dryRun).toMatchObject({code: 0})
    expect(dryRun.stdout).toContain('retention.ms=-1')
    expect(await kdlq(['inspect', topic, '--timeout', '10s'], {env})).toMatchObject({code: 1})
    expect(
      await kdlq(['import', source, '--topic', topic, '--create', '--keep-partition', '--yes'], {env}),
    ).toMatchObject({
      code: 0,
    })

    const read = await kdlq(['inspect', topic, '-o', 'jsonl', '-q'], {env})
    expect(linesOf(read.stdout).map(contentOf)).toEqual(linesOf(archive).map(normalised).map(contentOf))

    const fromTopic = JSON.parse((await kdlq(['stats', topic, '--by', 'stage,exception', '--json'], {env})).stdout) as {
      result: {groups: {by: unknown; count: number}[]; total: number}
    }
    const fromFile = JSON.parse(
      (await kdlq(['stats', source, '--by', 'stage,exception', '--json'])).stdout,
    ) as typeof fromTopic
    const counts = ({result}: typeof fromTopic) => ({
      total: result.total,
      groups: result.groups.map(({by, count}) => ({by, count})),
    })
    expect(counts(fromTopic)).toEqual(counts(fromFile))
  })

  test('a missing topic is refused without --create, and nothing is made', async () => {
    const refused = await kdlq(
      ['import', 'example:invoices-dlq', '--topic', `${prefix}-never-made`, '--yes', '--json'],
      {env},
    )
    expect(refused.code).toBe(6)
    expect((JSON.parse(refused.stdout) as {error: {code: string}}).error.code).toBe('E_TARGET_MISSING')
    expect((await kdlq(['inspect', `${prefix}-never-made`], {env})).stderr).toContain(`${prefix}-never-made`)
  })

  test('one record by its address; none is exit 3', async () => {
    const topic = `${prefix}-shown`
    expect(
      await kdlq(['import', 'example:orders-dlq', '--topic', topic, '--create', '--keep-partition', '--yes'], {env}),
    ).toMatchObject({code: 0})
    const shown = await kdlq(['show', `${topic}:0:3`, '--json'], {env})
    const {result} = JSON.parse(shown.stdout) as {result: {records: {address: string}[]}}
    expect(result.records.map(({address}) => address)).toEqual([`${topic}:0:3`])
    expect(await kdlq(['show', `${topic}:0:999999`], {env})).toMatchObject({code: 3})
  })

  test('a question that nobody can answer is declined before anything is written', async () => {
    const {code, stderr} = await kdlq(['import', 'example:invoices-dlq', '--topic', `${prefix}-asked`, '--create'], {
      env,
    })
    expect(code).toBe(6)
    expect(stderr).toContain('--yes')
    expect((await kdlq(['inspect', `${prefix}-asked`], {env})).code).not.toBe(0)
  })
})

/** Archives may hold base64 where text would do; inspect prints text. */
function normalised(line: ArchiveLine): ArchiveLine {
  const text = (bytes: unknown): unknown => {
    if (typeof bytes !== 'object' || bytes === null || !('base64' in bytes) || typeof bytes.base64 !== 'string')
      return bytes
    const raw = Buffer.from(bytes.base64, 'base64')
    return raw.equals(Buffer.from(raw.toString('utf8'))) ? raw.toString('utf8') : bytes
  }
  const headers = line.headers as readonly (readonly [string, unknown])[]
  return {
    ...line,
    key: text(line.key),
    value: text(line.value),
    headers: headers.map(([name, value]) => [text(name), text(value)]),
  }
}
