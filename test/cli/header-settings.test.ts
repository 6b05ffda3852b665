import {copyFile, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {spawn} from 'node:child_process'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {childEnv, dev, type Ended, node} from './support/kdlq.ts'

let folder = ''

const line = (offset: number, reason: string): string =>
  JSON.stringify({
    topic: 'orders-dead',
    partition: 0,
    offset: `${offset}`,
    timestamp: '1764500000000',
    timestampType: 'CreateTime',
    key: `k-${offset}`,
    value: `{"id":${offset},"iban":"DE00-${offset}"}`,
    headers: [
      ['traceparent', '00-1'],
      ['x-user', 'jane'],
      ['dead-from', 'orders'],
      ['dead-partition', '2'],
      [reason, 'no seat'],
    ],
  })

const settings = `headerMappings:
  origin.topic: dead-from
  origin.partition: [dead-partition]
  exception.message: [dlq-reason, dlq_reason]
stripHeaders: [x-*]
redact: [x-user, iban]
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-headers-'))
  await writeFile(join(folder, 'dead.ndjson'), `${line(0, 'dlq-reason')}\n${line(1, 'dlq_reason')}\n`)
  await writeFile(join(folder, '.kdlq.yaml'), settings)
})

afterAll(async () => rm(folder, {recursive: true, force: true}))

/** The program in the folder with the settings. */
const kdlq = async (...args: string[]): Promise<Ended> => kdlqIn(folder, args)

async function kdlqIn(cwd: string, args: readonly string[]): Promise<Ended> {
  const {promise, resolve} = Promise.withResolvers<Ended>()
  const child = spawn(node, [dev, ...args], {cwd, env: childEnv()})
  const out = {stdout: '', stderr: ''}
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (out.stderr += text))
  child.on('close', (code, signal) => resolve({code, signal, ...out}))
  child.stdin.end()
  return promise
}

interface Line {
  readonly value: string
  readonly headers: readonly (readonly [string, string | null])[]
  readonly failure: {readonly dialect: string; readonly origin: unknown}
  readonly redacted?: true
}
const linesOf = (text: string): Line[] =>
  text
    .trim()
    .split('\n')
    .map(json => JSON.parse(json) as Line)

describe.concurrent('headerMappings and redact in the commands', () => {
  test('inspect reads own header names, filters by them, and hides what is redacted', async () => {
    const {code, stdout, stderr} = await kdlq('inspect', './dead.ndjson', '--dialect', 'custom', '--output', 'jsonl')
    expect({code, stderr}).toMatchObject({code: 0})
    expect(stderr).not.toContain('not applied')
    const lines = linesOf(stdout)
    expect(lines).toHaveLength(2)
    for (const {failure, value, headers, redacted} of lines) {
      expect(failure).toMatchObject({dialect: 'custom', origin: {topic: 'orders', partition: 2}})
      expect(value).toContain('"iban":"[redacted]"')
      expect(Object.fromEntries(headers)).toMatchObject({'x-user': '[redacted]', traceparent: '00-1'})
      expect(redacted).toBe(true)
    }
  })

  test('[BR-37] stats makes one group of both spellings', async () => {
    const {stdout} = await kdlq('stats', './dead.ndjson', '--by', 'fingerprint', '--json')
    const {result} = JSON.parse(stdout) as {result: {groups: {count: number; fingerprint: string | null}[]}}
    expect(result.groups.map(({count}) => count)).toEqual([2])
  })

  test('show hides them too, also as hex, and refuses to print the bytes', async () => {
    const [raw, ...shown] = await Promise.all(
      [['--raw'], ['--hex', '--full-stack'], ['--json']].map(async args => kdlq('show', './dead.ndjson', ...args)),
    )
    expect(shown).toHaveLength(2)
    for (const {stdout} of shown) {
      expect(stdout).toContain('no seat')
      expect(stdout).toContain('redacted')
      expect(stdout).not.toMatch(/jane|DE00/)
    }
    expect(raw).toMatchObject({code: 2, stdout: ''})
    expect(raw?.stderr).toContain('--raw would print a value that the configuration redacts')
  })

  test('export and replay write what is there; own failure headers and stripHeaders are gone, the plan keeps both', async () => {
    const values = ['{"id":0,"iban":"DE00-0"}', '{"id":1,"iban":"DE00-1"}']
    const target = ['--to-archive', join(folder, 'out')]
    const plan = join(folder, 'plan.json')
    const [exported, planned] = await Promise.all([
      kdlq('export', './dead.ndjson', '--out', 'copy.ndjson'),
      kdlq('replay', './dead.ndjson', ...target, '--dry-run', '--plan-out', plan, '--json'),
    ])
    expect(exported).toMatchObject({code: 0})
    const copy = await readFile(join(folder, 'copy.ndjson'), 'utf8')
    expect(linesOf(copy).map(({value}) => value)).toEqual(values)

    const {result} = JSON.parse(planned.stdout) as {result: {plan: {headers: unknown; samples: {removed: string[]}[]}}}
    expect(result.plan.headers).toMatchObject({
      drop: ['x-*'],
      mappings: {'origin.topic': ['dead-from'], 'exception.message': ['dlq-reason', 'dlq_reason']},
    })
    expect(result.plan.samples[0]?.removed).toEqual(['x-user', 'dead-from', 'dead-partition', 'dlq-reason'])

    // The plan alone says how headers are read: it can be executed where there is no such configuration.
    const elsewhere = await mkdtemp(join(folder, 'elsewhere-'))
    await copyFile(join(folder, 'dead.ndjson'), join(elsewhere, 'dead.ndjson'))
    const replayed = await kdlqIn(elsewhere, ['replay', '--plan', plan, ...target, '--yes', '--json'])
    expect(replayed).toMatchObject({code: 0})
    const {stdout} = await kdlqIn(elsewhere, ['inspect', `${join(folder, 'out')}/`, '--output', 'jsonl'])
    const sent = linesOf(stdout)
    expect(sent.map(({value}) => value)).toEqual(values)
    for (const {headers} of sent) expect(headers.map(([name]) => name)).toEqual(['traceparent', 'kdlq.replay'])
  })

  test('a wrong field is exit 2 with a suggestion', async () => {
    const wrong = await mkdtemp(join(folder, 'wrong-'))
    await writeFile(join(wrong, '.kdlq.yaml'), 'headerMappings: {origin.topik: x}\n')
    const {code, stderr} = await kdlqIn(wrong, ['inspect', '../dead.ndjson'])
    expect(code).toBe(2)
    expect(stderr).toContain('unknown key headerMappings.origin.topik')
    expect(stderr).toContain("did you mean 'origin.topic'?")
  })
})
