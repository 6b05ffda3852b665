import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'
import {decodeFailure} from '../../../src/lib/dialects/decode.ts'
import type {Dialect} from '../../../src/lib/dialects/dialect.ts'
import {HeaderReader} from '../../../src/lib/dialects/header-reader.ts'
import {hasPrefix, headerName} from '../../../src/lib/dialects/primitives.ts'
import {DIALECTS} from '../../../src/lib/dialects/registry.ts'
import {headerStripper} from '../../../src/lib/dialects/restore.ts'
import {recordWith} from '../../support/records.ts'

const page = readFileSync(new URL('../../../docs/dialects.md', import.meta.url), 'utf8')

test('the page has every family, in the order of asking', () => {
  const rows = page.split('\n').flatMap(line => /^\| `([a-z-]+)` +\|(?:[^|]+\|){4}$/.exec(line)?.[1] ?? [])
  expect(rows).toEqual(DIALECTS.map(({id}) => id))
})

const PREFIX = headerName('acme.error.')
const COORDINATES = {topic: 'acme.error.topic', partition: 'acme.error.partition', offset: 'acme.error.offset'}

const acme: Dialect = {
  id: 'acme',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX),
  read(_record, headers) {
    if (!headers.has(COORDINATES.topic)) return null
    const reader = new HeaderReader(headers)
    const message = reader.newestOf('acme.error.reason', COORDINATES.topic)
    return {
      failure: {
        ...reader.hops(COORDINATES),
        ...(message === undefined ? {} : {exception: {message}}),
        ...reader.warnings(),
      },
      lastHeaderIndex: headers.lastIndexOfPrefix('acme.error.'),
    }
  },
}

test('the example of a new family works: reads, merges, strips', () => {
  const record = recordWith([
    ['app', '1'],
    ['acme.error.topic', 'orders'],
    ['acme.error.partition', '3'],
    ['acme.error.reason', 'no'],
    ['__connect.errors.topic', 'orders-dlq'],
  ])
  const dialects = [...DIALECTS, acme]
  const failure = decodeFailure(record, dialects)
  expect(failure).toMatchObject({chain: ['connect', 'acme'], origin: {topic: 'orders', partition: 3}})
  expect(decodeFailure({...record, headers: record.headers.slice(0, 4)}, dialects).exception).toEqual({message: 'no'})
  const strips = headerStripper(record, failure, {dialects})
  expect(record.headers.filter(({name}, index) => !strips(name, index))).toEqual(record.headers.slice(0, 1))
})
