import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, test} from 'vitest'
import {BugError} from '../../../../src/lib/errors.ts'
import type {Api} from '../../../../src/lib/kafka/protocol/types.ts'
import {ProtocolFormatError, WireReader, WireWriter} from '../../../../src/lib/kafka/protocol/wire.ts'

interface Vector {
  readonly message: string
  readonly version: number
  readonly variant: string
  readonly value: Record<string, unknown>
  readonly bytes: string
}

type Codec = Record<string, unknown>

const fixtures = join(import.meta.dirname, '../../../fixtures/protocol')
const generated = join(import.meta.dirname, '../../../../src/lib/kafka/protocol/generated')
const apis = readdirSync(fixtures).map(name => name.replace('.json', ''))

/** Fixture notation to values: {"int64": "1"} is 1n, {"bytes": "AA=="} is a Buffer. */
function revive(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('int64' in value) return BigInt(value.int64 as string)
  if ('bytes' in value) return Buffer.from(value.bytes as string, 'base64')
  return value
}

function vectorsOf(api: string): Vector[] {
  const rows = JSON.parse(readFileSync(join(fixtures, `${api}.json`), 'utf8')) as (Omit<Vector, 'value'> & {
    value: unknown
  })[]
  return rows.map(row => ({...row, value: JSON.parse(JSON.stringify(row.value), revive) as Record<string, unknown>}))
}

async function load(api: string): Promise<{codec: Codec; api: Api<unknown, unknown>}> {
  const file = api.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
  const codec = (await import(join(generated, `${file}.ts`))) as Codec
  return {codec, api: codec[`${api.charAt(0).toLowerCase()}${api.slice(1)}Api`] as Api<unknown, unknown>}
}

function isFlexible(api: Api<unknown, unknown>, version: number): boolean {
  return api.flexibleFrom !== null && version >= api.flexibleFrom
}

type Read = (r: WireReader, version: number) => unknown
type Write = (w: WireWriter, value: unknown, version: number) => void

describe.each(apis)("%s, against bytes made by Kafka's own classes", apiName => {
  const vectors = vectorsOf(apiName)
  const requests = vectors.filter(vector => vector.message.endsWith('Request'))
  const responses = vectors.filter(vector => vector.message.endsWith('Response'))

  test('has vectors for both messages at every version', async () => {
    const {api} = await load(apiName)
    const seen = new Set(vectors.map(({message, version}) => `${message} ${version}`))
    const wanted = []
    for (let version = api.versions.min; version <= api.versions.max; version++) {
      wanted.push(`${apiName}Request ${version}`, `${apiName}Response ${version}`)
    }
    expect([...seen].sort()).toEqual(wanted.sort())
  })

  test('encodes every request to the same bytes, and decodes every response to the same values', async () => {
    const {api} = await load(apiName)
    for (const {version, value, bytes} of requests)
      expect(api.encode(value, version).toString('base64'), `v${version}`).toBe(bytes)
    for (const {version, value, bytes} of responses) {
      expect(api.decode(Buffer.from(bytes, 'base64'), version), `v${version}`).toMatchObject(value)
    }
  })

  test('reads and writes both messages, nothing left over', async () => {
    const {codec, api} = await load(apiName)
    for (const {message, version, value, bytes} of vectors) {
      const reader = new WireReader(Buffer.from(bytes, 'base64'), isFlexible(api, version))
      const read = (codec[`read${message}`] as Read)(reader, version)
      expect(read, `${message} v${version}`).toMatchObject(value)
      expect(reader.remaining).toBe(0)
      const writer = new WireWriter(isFlexible(api, version), 1)
      ;(codec[`write${message}`] as Write)(writer, read, version)
      expect(writer.finish().toString('base64'), `${message} v${version}`).toBe(bytes)
    }
  })

  test('refuses every truncated response, and one with a byte too many', async () => {
    const {api} = await load(apiName)
    for (const {version, bytes} of responses) {
      const whole = Buffer.from(bytes, 'base64')
      for (let length = 0; length < whole.length; length++) {
        expect(() => api.decode(whole.subarray(0, length), version), `v${version} cut at ${length}`).toThrow(
          ProtocolFormatError,
        )
      }
      expect(() => api.decode(Buffer.concat([whole, Buffer.alloc(1)]), version)).toThrow(ProtocolFormatError)
    }
  })
})

test('a field that the version has no place for is our bug, unless it has its default or may be ignored', async () => {
  const {api} = await load('FindCoordinator')
  expect(() => api.encode({coordinatorKeys: ['a'], keyType: 0}, 3)).toThrow(BugError)
  expect(api.encode({key: 'a', coordinatorKeys: []}, 0).toString('hex')).toBe('000161')
  const fetch = (await load('Fetch')).api
  const request = {maxWaitMs: 1, minBytes: 1, topics: []}
  expect(fetch.encode({...request, rackId: 'r'}, 10)).toEqual(fetch.encode(request, 10))
})

test('a null in a version that has none for the field is our bug', async () => {
  const {api} = await load('OffsetFetch')
  expect(() => api.encode({groupId: 'g', topics: null}, 1)).toThrow(BugError)
  expect(api.encode({groupId: 'g', topics: null}, 2).toString('hex')).toBe('000167ffffffff')
})
