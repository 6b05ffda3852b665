import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {dev, type Ended, node, start} from './support/kdlq.ts'

let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kdlq-origin-'))
  const pointers = [41, 42].map(offset => ({
    topic: 'dlq.orders',
    partition: 0,
    offset: String(offset - 41),
    timestamp: '1764500001000',
    timestampType: 'CreateTime',
    key: null,
    value: null,
    headers: [
      ['__dlq.errors.topic', 'orders'],
      ['__dlq.errors.partition', '2'],
      ['__dlq.errors.offset', String(offset)],
      ['__dlq.errors.group', 'g'],
      ['__dlq.errors.delivery.count', '5'],
    ],
  }))
  const original = {
    topic: 'orders',
    partition: 2,
    offset: '41',
    timestamp: '1764500000000',
    timestampType: 'CreateTime',
    key: 'k-41',
    value: {base64: 'AAH/'},
    headers: [
      ['trace', 'abc'],
      ['trace', null],
    ],
  }
  const lines = (records: readonly object[]): string => records.map(record => `${JSON.stringify(record)}\n`).join('')
  await writeFile(at('dlq.ndjson'), lines(pointers))
  await writeFile(at('orders.ndjson'), lines([original]))
})

afterAll(async () => rm(dir, {recursive: true}))

/** Paths from the test's own folder. */
const at = (name: string): string => join(dir, name)

async function replay(...flags: readonly string[]): Promise<Ended> {
  const sources = [at('dlq.ndjson'), at('orders.ndjson'), '--dialect', 'share-group']
  const running = start(node, [dev, 'replay', ...sources, '--from-origin', '--json', '--yes', ...flags])
  running.child.stdin.end()
  return running.ended
}

test('[BR-13] a pointer is sent as its origin from another archive; one without an origin is unrecoverable', async () => {
  const refused = await replay('--to-archive', at('none'))
  expect(refused.code).toBe(6)
  expect(refused.stdout).toContain('unrecoverable: holds no payload, and orders:2 ends at 42')
  expect(refused.stdout).toContain('"replayed":0')

  const sent = await replay('--skip', 'origin-gone', '--to-archive', at('out'), '--no-provenance')
  expect(sent.code).toBe(0)
  const [written] = (await readFile(at('out/orders.ndjson'), 'utf8')).split('\n')
  expect(JSON.parse(written ?? '')).toMatchObject({
    topic: 'orders',
    partition: 2,
    timestamp: '1764500000000',
    key: 'k-41',
    value: {base64: 'AAH/'},
    headers: [
      ['trace', 'abc'],
      ['trace', null],
    ],
  })
})
