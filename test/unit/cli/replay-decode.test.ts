import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {toDecodeRule} from '../../../src/lib/cli/replay-decoders.ts'
import type {CaseResult} from '../../golden/support/cases.ts'
import {runLines} from '../../support/run-lines.ts'
import {startStubRegistry, type StubRegistry} from '../../support/stub-registry.ts'
import {framed, hex} from '../serde/support.ts'

const POINT = '{"type":"record","name":"Point","fields":[{"name":"x","type":"long"}]}'
let folder = ''
let archive = ''
let stub: StubRegistry

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-replay-decode-'))
  archive = join(folder, 'points.ndjson')
  stub = await startStubRegistry()
  stub.ids.set(1, {schema: POINT})
  const values = [framed(1, hex('02')), framed(1, hex('ff')), framed(1, hex('c801'))]
  const lines = values.map((value, offset) =>
    JSON.stringify({
      topic: 'points-dlq',
      partition: 0,
      offset,
      timestamp: '1764500000000',
      key: `k-${offset}`,
      value: {base64: value.toString('base64')},
      headers: ['topic=points', 'partition=0', `offset=${offset}`].map(text => {
        const [name = '', told = ''] = text.split('=')
        return [`__connect.errors.${name}`, told]
      }),
    }),
  )
  await writeFile(archive, `${lines.join('\n')}\n`)
})
afterAll(async () => {
  await stub[Symbol.asyncDispose]()
  await rm(folder, {recursive: true, force: true})
})

const run = (...lines: readonly (readonly string[])[]): Promise<readonly CaseResult[]> => runLines(lines, folder)

const inFolder = (name: string): string => join(folder, name)
const document = (result: CaseResult | undefined): unknown => JSON.parse(result?.stdout ?? '')

describe('replay --decode', () => {
  test('plans with a registry, executes with that of the executor only, and parks what cannot be decoded', async () => {
    const plan = inFolder('plan.json')
    const registry = ['--schema-registry', stub.url]
    const to = ['--to-archive', inFolder('out')]
    const [planned, none, some, chosen, nowhere, unknown] = await run(
      [
        'replay',
        archive,
        '--decode',
        'avro',
        ...to,
        '--parking-topic',
        'parked',
        '--dry-run',
        '--plan-out',
        plan,
        ...registry,
      ],
      ['replay', '--plan', plan, ...to, '--yes', '--json'],
      ['replay', '--plan', plan, ...to, '--yes', '--json', ...registry],
      ['replay', archive, '--where', 'value.x > 10', '--to-archive', inFolder('some'), '--yes', '--json', ...registry],
      ['replay', archive, '--decode', 'avro', ...to, '--yes'],
      ['replay', archive, '--decode', 'value=avroo', ...to, '--yes'],
    )
    expect(planned?.code).toBe(0)
    expect(planned?.stdout).toMatch(/^schema +warn +1 +value cannot be read as avro at byte 5, reading x: /m)
    expect(planned?.stdout).toContain('decode   before it is sent: value avro\n')
    expect(planned?.stderr).toContain('hint: schema: look at one with kdlq show')
    expect(await readFile(plan, 'utf8')).not.toContain(stub.url)
    expect(none?.code).toBe(2)
    expect(none?.stdout).toContain('name it with --schema-registry URL')
    expect(document(none)).toMatchObject({error: {code: 'E_NO_REGISTRY'}})
    expect(some?.code).toBe(3)
    expect(document(some)).toMatchObject({
      result: {
        counts: {replayed: 2, parked: 1},
        failures: [{address: 'points-dlq:0:1', state: 'parked', code: 'E_DECODE'}],
      },
    })
    expect(document(chosen)).toMatchObject({
      result: {counts: {selected: 1, replayed: 1}, plan: {decode: {registry: true}}},
    })
    expect([nowhere?.code, unknown?.code]).toEqual([2, 2])
    expect(nowhere?.stderr).toContain('no schema registry is named')
    expect(unknown?.stderr).toContain("--decode: there is no format 'avroo'")
  }, 30_000)

  test('resume decodes as the plan says, with the registry of whoever resumes', async () => {
    const to = ['--to-archive', inFolder('resumed')]
    const registry = ['--schema-registry', stub.url]
    const [stopped] = await run([
      'replay',
      archive,
      '--decode',
      ...to,
      '--errors-tolerance',
      'none',
      '--yes',
      '--json',
      ...registry,
    ])
    expect(document(stopped)).toMatchObject({result: {stopped: {reason: 'errors-tolerance', remaining: 1}}})
    const id = /r-[0-9A-Z]{26}/.exec(stopped?.stderr ?? '')?.[0] ?? ''
    const [refused, done] = await run(['resume', id, ...to], ['resume', id, ...to, '--json', ...registry])
    expect(refused?.code).toBe(2)
    expect(refused?.stderr).toContain('no schema registry is named')
    expect(document(done)).toMatchObject({result: {counts: {selected: 3, replayed: 2, failed: 1}, stopped: null}})
  }, 30_000)
})

describe('toDecodeRule', () => {
  const filters = (where?: string) => ({include: where === undefined ? {} : {where: [where]}, exclude: {}})

  test.each([
    [[], undefined],
    [['auto'], {value: 'auto'}],
    [['key=int64,value=avro:orders-value'], {key: 'int64', value: 'avro:orders-value@latest'}],
    [['value=avro:a@3', 'key=protobuf:k.proto#acme.Key'], {value: 'avro:a@3', key: 'protobuf:k.proto#acme.Key'}],
  ])('%j is %j', (decode, rule) => {
    expect(toDecodeRule(decode.length === 0 ? {} : {decode}, filters())).toEqual(rule)
  })

  test('a --where that looks into a payload decodes, and demands nothing', () => {
    expect(toDecodeRule({}, filters('value.id == 7.0'))).toEqual({})
    expect(toDecodeRule({}, filters('failure.stage == "TASK_PUT"'))).toBeUndefined()
  })
})
