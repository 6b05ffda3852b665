import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {fixture, node, root, start} from './support/kdlq.ts'

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-bundle-'))
  await mkdir(join(folder, 'kdlq'))
})

afterAll(async () => rm(folder, {recursive: true, force: true}))

/** The built program; packages behave differently in a bundle. */
async function built(args: readonly string[]) {
  const {child, ended} = start(node, [join(root, 'bin/run.js'), ...args], {
    XDG_CONFIG_HOME: folder,
    XDG_CACHE_HOME: folder,
  })
  child.stdin.end()
  return ended
}

describe('the built program', () => {
  test('reads and writes its configuration', async () => {
    expect(await built(['config', 'init', '--profile', 'prod', '-b', 'broker:9092'])).toMatchObject({code: 0})
    const {stdout} = await built(['config', 'list', '--json'])
    expect((JSON.parse(stdout) as {result: {profiles: unknown}}).result.profiles).toMatchObject([
      {name: 'prod', bootstrapServers: ['broker:9092'], current: true},
    ])
    await writeFile(join(folder, 'kdlq/config.yaml'), 'defaults: {output: csv, columns: "offset,key"}')
    expect(await built(['inspect', fixture, '-n', '1'])).toMatchObject({code: 0, stdout: 'offset,key\r\n0,k-1\r\n'})
  })

  test('loads patterns and expressions when they are asked for', async () => {
    const {stdout} = await built([
      'inspect',
      fixture,
      '-o',
      'csv',
      '--columns',
      'address',
      '--message',
      'positive',
      '--where',
      'failure.task == 1',
    ])
    expect(stdout).toBe('address\r\norders-dlq:0:1\r\norders-dlq:1:0\r\n')
  })

  test.each([
    ['avro:p.avsc', '{"type":"record","name":"P","fields":[{"name":"x","type":"long"}]}', '8001', {x: '64'}],
    ['protobuf:p.proto', 'syntax = "proto3"; message P { int64 x = 1; }', '0840', {x: '64'}],
    ['jsonschema:p.json', '{"properties":{"x":{"type":"integer"}}}', '7b2278223a36347d', {x: 64}],
    ['jsonschema:p.json', '{"$schema":"https://json-schema.org/draft/2020-12/schema"}', '3634', 64],
    ['msgpack', '', '81a17840', {x: 64}],
    ['cbor', '', 'a161781840', {x: 64}],
  ])('loads what reads %s', async (format, schema, hex, value) => {
    const archive = join(folder, 'payload.ndjson')
    const base64 = Buffer.from(hex, 'hex').toString('base64')
    await writeFile(
      archive,
      `{"topic":"t","partition":0,"offset":0,"key":null,"value":{"base64":"${base64}"},"headers":[]}\n`,
    )
    const [name, file] = format.split(':')
    if (file !== undefined) await writeFile(join(folder, file), schema)
    const asked = file === undefined ? format : `${name}:${join(folder, file)}`
    const ended = await built(['inspect', archive, '--decode', asked, '-o', 'jsonl'])
    expect(ended).toMatchObject({code: 0})
    expect((JSON.parse(ended.stdout) as {decoded: unknown}).decoded).toMatchObject({value})
  })

  test('draws tables, and its version is quick and the same everywhere', async () => {
    expect((await built(['inspect', fixture, '-o', 'table', '--columns', 'stage'])).stdout).toContain('VALUE_CONVERTER')
    const [quick, slow] = [await built(['--version']), await built(['version', '--json'])]
    const {version} = (JSON.parse(slow.stdout) as {result: {version: string}}).result
    expect(quick.stdout).toContain(`kdlq/${version} `)
  })

  test('opens a connection with the real client and tells why it failed', async () => {
    expect(await built(['inspect', 'orders-dlq', '-b', '127.0.0.1:1', '--timeout', '500ms'])).toMatchObject({
      code: 5,
      stdout: '',
    })
  })
})
