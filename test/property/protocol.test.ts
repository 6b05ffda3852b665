import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import fc from 'fast-check'
import {expect, test} from 'vitest'
import {fetchApi} from '../../src/lib/kafka/protocol/generated/fetch.ts'
import {metadataApi} from '../../src/lib/kafka/protocol/generated/metadata.ts'
import type {Api} from '../../src/lib/kafka/protocol/types.ts'
import {ProtocolFormatError, WireReader, WireWriter} from '../../src/lib/kafka/protocol/wire.ts'
import {runs} from '../support/runs.ts'

const fixtures = join(import.meta.dirname, '../fixtures/protocol')

interface Vector {
  readonly message: string
  readonly version: number
  readonly bytes: string
}

function answersOf(api: string): Vector[] {
  const rows = JSON.parse(readFileSync(join(fixtures, `${api}.json`), 'utf8')) as Vector[]
  return rows.filter(({message, bytes}) => message === `${api}Response` && bytes !== '')
}

async function load(name: string): Promise<Api<unknown, unknown>> {
  const file = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
  const module = (await import(`../../src/lib/kafka/protocol/generated/${file}.ts`)) as Record<
    string,
    Api<unknown, unknown>
  >
  const api = module[`${name.charAt(0).toLowerCase()}${name.slice(1)}Api`]
  if (api === undefined) throw new Error(`no ${name}`)
  return api
}

function outcome(api: Api<unknown, unknown>, bytes: Buffer, version: number): string {
  try {
    api.decode(bytes, version)
    return 'decoded'
  } catch (error) {
    return error instanceof ProtocolFormatError ? 'refused' : String(error)
  }
}

test.each(readdirSync(fixtures).map(name => name.replace('.json', '')))(
  '%s: a damaged answer is decoded to something or refused, nothing else',
  async name => {
    const api = await load(name)
    const vector = fc.constantFrom(...answersOf(name))
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), {minLength: 1, maxLength: 4})
    fc.assert(
      fc.property(vector, damage, fc.nat(), ({bytes, version}, changes, cut) => {
        const damaged = Buffer.from(bytes, 'base64')
        for (const [at, value] of changes) damaged[at % damaged.length] = value
        const shown = cut % 3 === 0 ? damaged.subarray(0, cut % damaged.length) : damaged
        expect(outcome(api, shown, version)).toMatch(/^(decoded|refused)$/)
      }),
      {numRuns: runs(100)},
    )
  },
)

test('any bytes at all are decoded or refused', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({maxLength: 200}),
      fc.constantFrom(fetchApi, metadataApi),
      fc.integer({min: 4, max: 12}),
      (bytes, api, version) => {
        expect(outcome(api as Api<unknown, unknown>, Buffer.from(bytes), version)).toMatch(/^(decoded|refused)$/)
      },
    ),
  )
})

test.each([true, false])(
  'counts and lengths beyond the message are refused before anything is allocated (compact %s)',
  flexible => {
    const huge = flexible ? Buffer.from('ffffffff0f', 'hex') : Buffer.from('7fffffff', 'hex')
    for (const read of [
      (r: WireReader) => r.nullableArray(() => r.int8()),
      (r: WireReader) => r.nullableBytes(),
      (r: WireReader) => r.nullableString(),
    ]) {
      expect(() => read(new WireReader(huge, flexible))).toThrow(ProtocolFormatError)
    }
  },
)

test('a null where a value is required, a negative length and a tag of the wrong size are refused', () => {
  expect(() => new WireReader(Buffer.from('ffff', 'hex'), false).string()).toThrow('null where a value is required')
  expect(() => new WireReader(Buffer.from('fffe', 'hex'), false).nullableString()).toThrow('negative length -2')
  expect(() => new WireReader(Buffer.from('ffffffff1f', 'hex'), true).unsignedVarint()).toThrow('more than 32 bits')
  const tagged = new WireReader(Buffer.from('01000401020304', 'hex'), true)
  expect(() => tagged.tags(() => tagged.int8() > 0)).toThrow('tag 0 has 3 bytes too many')
})

test('every value comes back, compact or not', () => {
  const value = fc.record({
    text: fc.option(fc.string({unit: 'grapheme'})),
    bytes: fc.option(fc.uint8Array().map(bytes => Buffer.from(bytes))),
    numbers: fc.option(fc.array(fc.bigInt({min: -(2n ** 63n), max: 2n ** 63n - 1n}))),
    varint: fc.integer({min: 0, max: 2 ** 32 - 1}),
    uuid: fc.uint8Array({minLength: 16, maxLength: 16}).map(bytes => Buffer.from(bytes).toString('base64url')),
  })
  fc.assert(
    fc.property(value, fc.boolean(), (given, flexible) => {
      const w = new WireWriter(flexible, 1)
      w.nullableString(given.text)
      w.nullableBytes(given.bytes)
      w.nullableArray(given.numbers, number => w.int64(number))
      w.unsignedVarint(given.varint)
      w.uuid(given.uuid)
      w.tags([[3, inner => inner.int16(7)]])
      const r = new WireReader(w.finish(), flexible)
      const read = {
        text: r.nullableString(),
        bytes: r.nullableBytes(),
        numbers: r.nullableArray(() => r.int64()),
        varint: r.unsignedVarint(),
        uuid: r.uuid(),
      }
      expect(read).toEqual(given)
      r.tags()
      expect(r.remaining).toBe(0)
    }),
  )
})
