import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {withBareDecode} from '../../../src/lib/cli/decode-flags.ts'
import {registryConfig} from '../../../src/lib/cli/schema-registry.ts'
import type {SchemaRegistrySettings} from '../../../src/lib/cli/config/settings.ts'
import type {CaseResult} from '../../golden/support/cases.ts'
import {runLines} from '../../support/run-lines.ts'
import {startStubRegistry, type StubRegistry} from '../../support/stub-registry.ts'
import {framed, hex} from '../serde/support.ts'

const POINT = '{"type":"record","name":"Point","fields":[{"name":"x","type":"long"}]}'
let folder = ''
let archive = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-payloads-'))
  archive = join(folder, 'points.ndjson')
  const values = [framed(1, hex('02')), framed(1, hex('c801')), framed(1, hex('ff')), Buffer.from('plain')]
  const lines = values.map((value, offset) =>
    JSON.stringify({
      topic: 'points-dlq',
      partition: 0,
      offset,
      key: `k-${offset}`,
      value: {base64: value.toString('base64')},
      headers: [],
    }),
  )
  await writeFile(archive, `${lines.join('\n')}\n`)
})
afterAll(async () => rm(folder, {recursive: true, force: true}))

const run = (...lines: readonly (readonly string[])[]): Promise<readonly CaseResult[]> => runLines(lines, folder)

async function pointsRegistry(): Promise<StubRegistry> {
  const stub = await startStubRegistry()
  stub.ids.set(1, {schema: POINT})
  stub.subjects.set(1, [{subject: 'points-value', version: 2}])
  return stub
}

const rows = (result: CaseResult | undefined) =>
  (result?.stdout ?? '')
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as {address: string; decoded: Record<string, unknown>})

describe('keys and values by their schemas', () => {
  test('inspect and show decode them; --where asks them; the registry is asked once a run', async () => {
    await using stub = await pointsRegistry()
    const registry = ['--schema-registry', stub.url]
    const [all, some, stats, shown] = await run(
      ['inspect', archive, '--decode', '-o', 'jsonl', ...registry],
      ['inspect', archive, '--where', 'value.x > 10', '-o', 'jsonl', '--decode', 'auto', ...registry],
      ['stats', archive, '--where', 'value.x > 0', '--json', ...registry],
      ['show', 'points-dlq:0:2', '--archive', archive, ...registry],
    )
    expect(rows(all).map(({decoded}) => decoded['value'])).toEqual([{x: '1'}, {x: '100'}, null, 'plain'])
    expect(rows(all)[0]?.decoded).toEqual({
      key: 'k-0',
      value: {x: '1'},
      format: {key: 'text', value: 'avro'},
      schema: {id: 1, type: 'AVRO', subject: 'points-value', version: 2, name: 'Point'},
    })
    expect(rows(all)[2]?.decoded['error']).toEqual({
      part: 'value',
      step: 'decode',
      message: 'the bytes end inside a long',
      at: 5,
      field: 'x',
    })
    expect(rows(some).map(({address}) => address)).toEqual(['points-dlq:0:1'])
    expect(some?.stderr).toContain('--where could not be evaluated on 2 records')
    expect(JSON.parse(stats?.stdout ?? '')).toMatchObject({result: {total: 2}})
    expect(shown?.stdout).toContain('Value 6 B avro, schema 1, points-value version 2\n')
    expect(shown?.stdout).toContain('makes no sense at byte 5, reading x: the bytes end inside a long\n')
    expect(shown?.stdout).toContain('00000000  00 00 00 00 01[ff]')
    expect([all, some, stats, shown].map(result => result?.code)).toEqual([0, 0, 0, 0])
    expect(stub.requests.filter(path => path === '/schemas/ids/1')).toHaveLength(4)
  }, 30_000)

  test('without one that answers: raw bytes and one warning; wrong use is exit 2 before anything is read', async () => {
    // No service of ours ever listens there.
    const url = 'http://127.0.0.1:1'
    const registry = ['--schema-registry', url]
    const [listed, shown, plain, numbers, ...wrong] = await run(
      ['inspect', archive, '--decode', '--json', ...registry],
      ['show', 'points-dlq:0:0', '--archive', archive, ...registry],
      ['inspect', archive],
      ['inspect', archive, '--decode', 'key=int64,value=hex', '-o', 'jsonl'],
      ['inspect', archive, '--decode', '--schema-registry', 'localhost:8081'],
      ['show', archive, '--schema-registry', 'http://ada:secret@a'],
      ['inspect', archive, '--decode=xml'],
      ['stats', archive, '--where', 'value.x > 1', '--decode', 'avro:gone.avsc'],
    )
    const warning = `the schema registry ${url} cannot be reached (ECONNREFUSED)`
    expect(listed?.stderr.split(warning)).toHaveLength(2)
    expect(JSON.parse(listed?.stdout ?? '')).toMatchObject({warnings: [warning]})
    expect(shown?.stdout).toContain(`no schema: ${warning}`)
    expect(shown?.stdout).toContain('00000000  00 00 00 00 01 02')
    expect(shown?.stderr).toContain(`warning: ${warning}`)
    expect(plain?.stderr).toBe('4 of 4 records match\n')
    expect(rows(numbers)[0]?.decoded).toMatchObject({
      key: 'k-0',
      value: '0x000000000102',
      error: {part: 'key', step: 'decode', message: 'int64 takes 8 bytes, here are 3', at: 3},
    })
    expect([listed, shown, plain, numbers].map(result => result?.code)).toEqual([0, 0, 0, 0])
    expect(wrong.map(({code}) => code)).toEqual([2, 2, 2, 2])
    expect(wrong[0]?.stderr).toContain("--schema-registry: 'localhost:8081' is not http or https")
    expect(wrong[1]?.stderr).not.toContain('secret')
    expect(wrong[2]?.stderr).toContain("--decode: there is no format 'xml'")
    expect(wrong[3]?.stderr).toContain('the schema gone.avsc cannot be read (ENOENT)')
  }, 30_000)
})

describe('--decode', () => {
  test.each([
    [
      ['orders-dlq', '--decode'],
      ['orders-dlq', '--decode=auto'],
    ],
    [
      ['--decode', 'orders-dlq'],
      ['--decode=auto', 'orders-dlq'],
    ],
    [
      ['--decode', '--json'],
      ['--decode=auto', '--json'],
    ],
    [
      ['--decode', 'avro', 'x'],
      ['--decode', 'avro', 'x'],
    ],
    [
      ['--decode', 'key=int64', '--decode', 'x'],
      ['--decode', 'key=int64', '--decode=auto', 'x'],
    ],
    [['--decode=hex'], ['--decode=hex']],
    [
      ['--', '--decode'],
      ['--', '--decode'],
    ],
  ])('%j is %j', (argv, expected) => {
    expect(withBareDecode(argv)).toEqual(expected)
  })
})

describe('how the registry is reached', () => {
  const configOf = async (schemaRegistry: string | SchemaRegistrySettings | undefined, flag?: string, env = {}) =>
    registryConfig(
      {'schema-registry': flag},
      {profileName: 'prod', ...(schemaRegistry === undefined ? {} : {schemaRegistry})},
      env,
    )
  const secretFile = async (text: string): Promise<string> => {
    const path = join(folder, 'secret')
    await writeFile(path, text)
    return path
  }

  test('none is named', async () => {
    expect(await configOf(undefined)).toBeNull()
  })

  test('a text is its address; several are tried in turn', async () => {
    expect((await configOf('http://a,http://b'))?.urls.map(String)).toEqual(['http://a/', 'http://b/'])
    expect((await configOf({url: ['http://a']}, 'http://c'))?.urls.map(String)).toEqual(['http://c/'])
  })

  test.each([
    [{passwordEnv: 'SECRET'}, 'Basic YWRhOnPDvA=='],
    [{passwordCommand: "printf 'sü\\n'"}, 'Basic YWRhOnPDvA=='],
  ])('basic auth: %j', async (settings, header) => {
    const config = await configOf({url: 'http://a', username: 'ada', ...settings}, undefined, {SECRET: 'sü'})
    expect(config?.authorization()).toBe(header)
    expect(JSON.stringify(config)).not.toContain('sü')
  })

  test('a token is read from a file, without its line end', async () => {
    expect((await configOf({url: 'http://a', tokenFile: await secretFile('t0ken\n')}))?.authorization()).toBe(
      'Bearer t0ken',
    )
  })

  test("the profile's password goes to the profile's addresses only", async () => {
    const settings = {url: 'https://a:1', username: 'ada', passwordEnv: 'SECRET'}
    const env = {SECRET: 's'}
    expect((await configOf(settings, 'https://a:1/other', env))?.authorization()).not.toBeNull()
    expect((await configOf(settings, 'https://evil:1', env))?.authorization()).toBeNull()
    expect((await configOf(settings, 'http://a:1', env))?.authorization()).toBeNull()
  })

  test.each([
    [{username: 'ada'}, 'profile prod: schemaRegistry has no url'],
    [
      {url: 'http://a', username: 'ada'},
      'one of schemaRegistry.passwordFile, passwordEnv and passwordCommand has to say where the password is',
    ],
    [{url: 'http://a', passwordEnv: 'S'}, 'schemaRegistry.username is missing'],
    [{url: 'http://a', tokenEnv: 'T', username: 'a'}, 'has a token and a password'],
    [{url: 'http://a', tokenEnv: 'GONE'}, 'the variable GONE of schemaRegistry.tokenEnv is not set'],
    [{url: 'http://a', tokenFile: '/gone'}, 'the token cannot be read from schemaRegistry.tokenFile (ENOENT)'],
    [{url: 'https://a', tls: {cert: 'a.pem'}}, 'schemaRegistry.tls.cert and tls.key belong together'],
    [{url: 'https://a', tls: {ca: '/gone.pem'}}, '/gone.pem cannot be read (ENOENT)'],
    [{url: 'a'}, "schemaRegistry.url: 'a' is no address"],
  ])('%j is a broken profile', async (settings, message) => {
    await expect(configOf(settings)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message) as string,
    })
  })
})

test('show takes the newest match, or as many as --limit says, 0 = all', async () => {
  const shown = (
    await run(...[[], ['--limit', '2'], ['--limit', '0']].map(more => ['show', archive, '--json', ...more]))
  ).map(({stdout}) => (JSON.parse(stdout) as {result: {records: readonly {address: string}[]}}).result.records)
  expect(shown.map(records => records.map(({address}) => address.at(-1)).join(''))).toEqual(['3', '01', '0123'])
})
