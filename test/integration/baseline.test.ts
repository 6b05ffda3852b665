import {randomBytes} from 'node:crypto'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, expect, inject, test} from 'vitest'
import {kdlq} from '../cli/support/kdlq.ts'
import {deleteTopic} from '../support/delivery-cluster.ts'
import {connectPlain} from '../support/kafka-client.ts'

const bootstrapServers = inject('bootstrapServers')
const env = {KDLQ_BOOTSTRAP_SERVER: bootstrapServers}
const topic = `baseline-${randomBytes(4).toString('hex')}-dlq`
const folder = await mkdtemp(join(tmpdir(), 'kdlq-baseline-'))
const file = join(folder, 'friday.json')

afterAll(() => rm(folder, {recursive: true, force: true}))

async function load(): Promise<void> {
  const {code, stderr} = await kdlq(['import', 'example:invoices-dlq', '--topic', topic, '--create', '--yes', '-q'], {
    env,
  })
  expect({code, stderr}).toEqual({code: 0, stderr: ''})
}

interface Stats {
  readonly result: {
    readonly groups: readonly {readonly change: string; readonly count: number; readonly before?: number}[]
    readonly total: number
  }
  readonly warnings: readonly string[]
}

const later = ['--from', `baseline:${file}`]

async function compare(...args: readonly string[]): Promise<Stats> {
  const {code, stdout} = await kdlq(['stats', topic, '--baseline', file, '--json', '-q', ...args], {env})
  expect(code).toBe(0)
  return JSON.parse(stdout) as Stats
}

test('a baseline of a topic tells what came behind it, and is told when the topic is another one', async () => {
  await load()
  expect(await kdlq(['stats', topic, '--save-baseline', file, '-q'], {env})).toMatchObject({code: 0})
  expect((await compare(...later)).result).toMatchObject({total: 0, groups: []})

  await load()
  const all = await compare()
  const [group] = all.result.groups
  expect(group).toMatchObject({change: 'grown', count: 2 * (group?.before ?? 0)})
  const behind = await compare(...later)
  expect(behind.result).toMatchObject({total: all.result.total / 2, groups: [{change: 'grown', before: group?.before}]})

  await using cluster = await connectPlain(bootstrapServers)
  await deleteTopic(cluster, bootstrapServers, topic)
  await load()
  const again = await compare()
  expect(again.warnings.join()).toContain(`topic ${topic} was created again`)
  const refused = await kdlq(['stats', topic, ...later], {env})
  expect(refused).toMatchObject({code: 2, stdout: ''})
  expect(refused.stderr).toContain(`topic ${topic} was created again since it was saved`)
})

test('a baseline of another cluster is told, and its offsets are refused', async () => {
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/"clusterId": "[^"]+"/, '"clusterId": "elsewhere"'))
  expect((await compare()).warnings.join()).toContain('saved from another cluster (elsewhere, here ')
  expect(await kdlq(['stats', topic, ...later], {env})).toMatchObject({code: 2, stdout: ''})
})
