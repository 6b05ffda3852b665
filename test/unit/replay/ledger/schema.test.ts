import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'
import {parseLedgerKey} from '../../../../src/lib/replay/ledger/names.ts'
import {parseEntry} from '../../../../src/lib/replay/ledger/parse.ts'
import {entryRecord} from '../../../../src/lib/replay/ledger/records.ts'
import {LEDGER_STATES, LEDGER_VERSION} from '../../../../src/lib/replay/ledger/types.ts'
import {entryOf} from './support.ts'

type Json = Readonly<Record<string, unknown>>

const schema = JSON.parse(
  readFileSync(new URL('../../../../docs/schemas/ledger-entry.schema.json', import.meta.url), 'utf8'),
) as Json

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const KNOWN = new Set(
  '$schema $id $defs $ref title description type required properties const enum pattern minimum maximum anyOf'.split(
    ' ',
  ),
)

/** As much of JSON Schema as ours uses; a keyword that it does not know is an error. @returns places that do not fit */
function faults(rule: Json, value: unknown, at = ''): readonly string[] {
  const unknown = Object.keys(rule).find(keyword => !KNOWN.has(keyword))
  if (unknown !== undefined) throw new Error(`keyword ${unknown}`)
  const own: boolean[] = []
  if ('const' in rule) own.push(value === rule['const'])
  if (Array.isArray(rule['enum'])) own.push(rule['enum'].includes(value))
  if (rule['type'] !== undefined) own.push([rule['type']].flat().some(type => isOfType(type, value)))
  if (typeof rule['pattern'] === 'string' && typeof value === 'string')
    own.push(new RegExp(rule['pattern']).test(value))
  if (typeof rule['minimum'] === 'number' && typeof value === 'number') own.push(value >= rule['minimum'])
  if (typeof rule['maximum'] === 'number' && typeof value === 'number') own.push(value <= rule['maximum'])
  if (Array.isArray(rule['anyOf'])) {
    own.push(rule['anyOf'].some(one => isObject(one) && faults(one, value, at).length === 0))
  }
  const found = own.every(Boolean) ? [] : [at]
  if (typeof rule['$ref'] === 'string') found.push(...faults(definition(rule['$ref']), value, at))
  if (!isObject(value)) return found
  for (const name of Array.isArray(rule['required']) ? rule['required'] : []) {
    if (!Object.hasOwn(value, String(name))) found.push(`${at}/${name}`)
  }
  for (const [name, inner] of Object.entries(isObject(rule['properties']) ? rule['properties'] : {})) {
    if (isObject(inner) && Object.hasOwn(value, name)) found.push(...faults(inner, value[name], `${at}/${name}`))
  }
  return found
}

function definition(ref: string): Json {
  const all = schema['$defs']
  const found = isObject(all) ? all[ref.replace('#/$defs/', '')] : undefined
  if (!isObject(found)) throw new Error(`no ${ref}`)
  return found
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'object') return isObject(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function valueOf(over: Parameters<typeof entryOf>[1] = {}): Json {
  const json: unknown = JSON.parse(entryRecord(entryOf(7n, over)).value as string)
  if (!isObject(json)) throw new Error('no object')
  return json
}

test.each([
  ['replayed', {}],
  ['failed before anything was written', {state: 'failed', target: null, origin: null, by: null, attempt: 0}],
  ['sending', {state: 'sending', scanFrom: 0n, target: {topic: 'orders', partition: 0, offset: null, clusterId: null}}],
  ['to another cluster', {target: {topic: 'orders', partition: 0, offset: 2n ** 63n - 1n, clusterId: 'x'}}],
  ['with half an origin', {origin: {topic: 'orders', partition: null, offset: null}}],
] as const)('an entry %s fits the published schema', (_, over) => {
  expect(faults(schema, valueOf(over))).toEqual([])
})

const good = valueOf()
test.each([
  ['/v', {...good, v: 2}],
  ['/state', {...good, state: 'done'}],
  ['/run', {...good, run: 'a|b'}],
  ['/sha256', {...good, sha256: 'AB'}],
  ['/attempt', {...good, attempt: -1}],
  ['/attempt', {...good, attempt: 1.5}],
  ['/at', {...good, at: 5}],
  ['/at', {...good, at: '05'}],
  ['/reason', {...good, reason: 7}],
  ['/target', {...good, target: {topic: 'orders', partition: 0}}],
  ['/origin', {...good, origin: 'orders'}],
  ['/scanFrom', {...good, scanFrom: '-1'}],
])('schema and reader both refuse a wrong %s', (at, value) => {
  expect(faults(schema, value)).toEqual([at])
  const key = parseLedgerKey(entryRecord(entryOf(7n)).key)
  if (key?.kind !== 'entry') throw new Error('no entry')
  expect(parseEntry(key, Buffer.from(JSON.stringify(good)))).not.toBeNull()
  expect(parseEntry(key, Buffer.from(JSON.stringify(value)))).toBeNull()
})

test('every member is required by the schema except scanFrom', () => {
  expect(schema['required']).toEqual(Object.keys(good))
})

test('states and version of the schema are those of the code', () => {
  const {properties} = schema
  if (!isObject(properties)) throw new Error('no properties')
  expect(properties['state']).toMatchObject({enum: LEDGER_STATES})
  expect(properties['v']).toEqual({const: LEDGER_VERSION})
})
