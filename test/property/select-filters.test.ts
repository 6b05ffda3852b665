import {readdirSync, readFileSync} from 'node:fs'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../src/lib/dead-letter/dead-letter.ts'
import type {DeadLetter} from '../../src/lib/dead-letter/model.ts'
import {formatAddress, type KafkaRecord} from '../../src/lib/kafka/record.ts'
import {compileFilters} from '../../src/lib/select/compile.ts'
import type {FilterSpec} from '../../src/lib/select/filter-spec.ts'
import {FILTER_NAMES} from '../../src/lib/select/filters/index.ts'
import {CONNECT_TOPICS, connectRecords} from '../support/connect-fixtures.ts'
import {parseVectors, vectorRecord} from '../support/dialect-vectors.ts'
import {batchOf} from '../unit/dead-letter/scan-cluster.ts'
import {runs} from '../support/runs.ts'

const vectors = new URL('../fixtures/dialects/', import.meta.url)

/** Records that real software wrote, and those of the dialect vectors. */
const real: KafkaRecord[] = []
for (const topic of CONNECT_TOPICS) real.push(...(await connectRecords(topic)))
for (const name of readdirSync(vectors)) {
  real.push(...parseVectors(readFileSync(new URL(name, vectors), 'utf8')).map(vector => vectorRecord(vector)))
}

/** Values that the filters could be given, taken from the records themselves so that many match. */
function valuesFrom(letter: DeadLetter): Readonly<Record<string, readonly (string | undefined)[]>> {
  const {failure, record} = letter
  const first = record.headers[0]
  const [cls, cause] = [failure.exception?.class, failure.exception?.cause]
  return {
    key: [record.key?.toString('utf8'), record.key === null ? undefined : `0x${record.key.toString('hex')}`],
    header: record.headers
      .flatMap(({name, value}) => [name.toString(), `${name.toString()}=${value?.toString('utf8') ?? ''}`])
      .concat(first === undefined ? [] : [`${first.name.toString()}=0x${first.value?.toString('hex') ?? ''}`]),
    stage: [failure.stage],
    connector: [failure.connector, failure.connector?.replace(/^.../, '*')],
    task: [failure.task === undefined ? undefined : String(failure.task)],
    group: [failure.group],
    app: [failure.app],
    dialect: [failure.dialect],
    origin: [failure.origin?.topic],
    attempts: ['>=1'],
    exception: [
      cls,
      cause,
      cls?.replace(/^.*[.$]/, ''),
      cause?.replace(/^.*[.$]/, '*'),
      cls?.replace(/Exception$/, '*'),
    ],
    message: ['serialization|null|Error'],
    fingerprint: [letter.fingerprint ?? undefined],
    where: ['failure.stage != null', 'size(headers) > 11'],
  }
}

const ready = new WeakMap<KafkaRecord, {batch: ReturnType<typeof batchOf>; letter: DeadLetter}>()

/** The record as a batch and as a letter, made once. */
function readyOf(record: KafkaRecord): {batch: ReturnType<typeof batchOf>; letter: DeadLetter} {
  const known = ready.get(record)
  if (known !== undefined) return known
  const made = {batch: batchOf({records: [record]}), letter: createDeadLetter(record)}
  ready.set(record, made)
  return made
}

/** Runs filters both ways. */
async function compare(
  spec: FilterSpec,
  records: readonly KafkaRecord[],
): Promise<{readonly matched: number; readonly contradictions: readonly string[]}> {
  const filters = await compileFilters(spec)
  let matched = 0
  const contradictions: string[] = []
  for (const record of records) {
    const {batch, letter} = readyOf(record)
    const cursor = batch.cursor()
    cursor.next()
    const peek = filters.peek(cursor)
    const isMatch = filters.matches(letter)
    if (isMatch) matched += 1
    if (peek === (isMatch ? 'no' : 'yes'))
      contradictions.push(`${peek} for ${formatAddress(record)} and ${JSON.stringify(spec)}`)
  }
  return {matched, contradictions}
}

async function isValid(name: string, text: string): Promise<boolean> {
  try {
    await compileFilters({include: {[name]: [text]}, exclude: {}})
    return true
  } catch {
    return false
  }
}

describe('a look at raw bytes never contradicts the decoded record', () => {
  test('for every filter with values of every tenth real record', async () => {
    const sample = real.filter((_, index) => index % 10 === 0)
    const known = new Map<string, Set<string>>(FILTER_NAMES.map(name => [name, new Set()]))
    for (const record of sample) {
      for (const [name, texts] of Object.entries(valuesFrom(createDeadLetter(record)))) {
        for (const text of texts) if (text !== undefined && text.length < 200) known.get(name)?.add(text)
      }
    }
    for (const [name, texts] of known) {
      for (const text of [...texts].slice(0, 12)) {
        if (!(await isValid(name, text))) continue
        const taken = await compare({include: {[name]: [text]}, exclude: {}}, sample)
        const dropped = await compare({include: {}, exclude: {[name]: [text]}}, sample)
        expect([...taken.contradictions, ...dropped.contradictions]).toEqual([])
        expect(taken.matched + dropped.matched).toBe(sample.length)
      }
    }
  }, 60_000)

  test('for combinations', async () => {
    const letters = real.map(record => createDeadLetter(record))
    const values = fc.constantFrom(...letters).map(valuesFrom)
    const some = fc.tuple(
      values,
      values,
      fc.subarray([...FILTER_NAMES], {maxLength: 3}),
      fc.subarray([...FILTER_NAMES], {maxLength: 2}),
    )
    let matched = 0
    await fc.assert(
      fc.asyncProperty(some, fc.nat(real.length - 1), async ([left, right, include, exclude], start) => {
        const spec = {include: await pick(include, left, right), exclude: await pick(exclude, right)}
        const result = await compare(spec, real.slice(start, start + 60))
        expect(result.contradictions).toEqual([])
        matched += result.matched
      }),
      {numRuns: runs(60)},
    )
    expect(matched).toBeGreaterThan(0)
  }, 60_000)

  test('for records of any bytes', async () => {
    const bytes = fc.uint8Array({maxLength: 40}).map(array => Buffer.from(array))
    const name = fc.oneof(
      bytes,
      fc
        .constantFrom('stage', 'exception.class.name', 'exception.stacktrace', 'connector.name')
        .map(end => Buffer.from(`__connect.errors.${end}`)),
    )
    const value = fc.oneof(
      bytes,
      fc
        .constantFrom('VALUE_CONVERTER', 'a.b.DataException', 'x\nCaused by: a.b.Root: m', 'orders-es', '')
        .map(text => Buffer.from(text)),
    )
    const record = fc.record({
      key: fc.option(bytes),
      value: fc.option(
        fc.oneof(
          bytes,
          fc.json().map(json => Buffer.from(json)),
        ),
      ),
      headers: fc.array(fc.record({name, value: fc.option(value)}), {maxLength: 6}),
    })
    const specs: readonly FilterSpec[] = [
      {include: {stage: ['VALUE_CONVERTER']}, exclude: {}},
      {include: {exception: ['DataException', 'a.b.Root']}, exclude: {}},
      {include: {exception: ['*Data*']}, exclude: {connector: ['orders-*']}},
      {include: {connector: ['orders-es']}, exclude: {header: ['__connect.errors.stage']}},
      {include: {}, exclude: {key: ['0x00', 'a', '']}},
    ]
    await fc.assert(
      fc.asyncProperty(record, fc.constantFrom(...specs), async (fields, spec) => {
        const whole = {
          ...fields,
          topic: 'x-dlq',
          partition: 0,
          offset: 0n,
          timestamp: 1n,
          timestampType: 'CreateTime' as const,
        }
        expect((await compare(spec, [whole])).contradictions).toEqual([])
      }),
      {numRuns: runs(500)},
    )
  })
})

async function pick(
  names: readonly string[],
  ...from: readonly Readonly<Record<string, readonly (string | undefined)[]>>[]
): Promise<FilterSpec['include']> {
  const picked: Record<string, readonly string[]> = {}
  for (const name of names) {
    const texts = from.map(values => values[name]?.[0]).filter(text => text !== undefined)
    const valid: string[] = []
    for (const text of texts) if (await isValid(name, text)) valid.push(text)
    if (valid.length > 0) picked[name] = valid
  }
  return picked
}
