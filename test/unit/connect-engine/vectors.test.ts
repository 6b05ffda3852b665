import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {zstdDecompressSync} from 'node:zlib'
import {describe, expect, test} from 'vitest'
import {connectDifferences, parseConnectVector} from '../../../scripts/vectors/connect.ts'
import type {ConnectVector} from '../../../scripts/vectors/connect-format.ts'

const file = fileURLToPath(new URL('../../fixtures/connect-vectors/connect-vectors.jsonl.zst', import.meta.url))
const lines = zstdDecompressSync(readFileSync(file))
  .toString('utf8')
  .split('\n')
  .filter(line => line !== '')
const vectors = lines.map(parseConnectVector)

/** Vectors a kind, both lines of a differing pair counted. */
const COUNTS = {
  stage: 168,
  retry: 206,
  tolerance: 13,
  pipeline: 41,
  reporters: 93,
  close: 10,
  dlq: 114,
  log: 52,
  errant: 64,
  text: 3,
  config: 84,
}

function vectorOf(id: string): ConnectVector {
  const found = vectors.find(vector => vector.id === id)
  if (found === undefined) throw new Error(`no vector ${id}`)
  return found
}

describe('the engine does what the classes of Connect 3.9.2 and 4.4.0 did', () => {
  test.each(Object.entries(COUNTS))('%s: %i vectors', async (kind, count) => {
    const ofKind = vectors.filter(vector => vector.kind === kind)
    expect(ofKind).toHaveLength(count)
    const failed: string[] = []
    for (const vector of ofKind) {
      const differences = await connectDifferences(vector)
      if (differences.length > 0) failed.push([vector.id, ...differences].join('\n  '))
    }
    expect(failed).toEqual([])
  })

  test('no vector is left out', () => {
    expect(vectors.filter(({kind}) => !Object.hasOwn(COUNTS, kind))).toEqual([])
    expect(lines).toHaveLength(848)
  })
})

describe('the runner sees', () => {
  test('every changed expectation of a vector', async () => {
    const unseen: string[] = []
    for (const vector of vectors.filter(({kind}, index) => kind !== 'config' && index % 17 === 0)) {
      for (const [path, expected] of mutations(vector.expected)) {
        const differences = await connectDifferences({...vector, expected: expected as ConnectVector['expected']})
        if (differences.length === 0) unseen.push(`${vector.id} ${path}`)
      }
    }
    expect(unseen).toEqual([])
  })

  test('bytes, however they are spelled', async () => {
    const vector = vectors.find(({expected}) => JSON.stringify(expected['dlq'] ?? []).includes('"key":"k1"'))
    const text = JSON.stringify(vector).replaceAll('"key":"k1"', '"key":{"base64":"azE="}')
    expect(await connectDifferences(JSON.parse(text) as ConnectVector)).toEqual([])
    const other = text.replaceAll('azE=', 'azI=')
    const kept = {...(JSON.parse(text) as ConnectVector), expected: (JSON.parse(other) as ConnectVector).expected}
    expect((await connectDifferences(kept)).join()).toContain('dlq[0].key: want "k2", got "k1"')
  })

  test('an exception whose parts are null', async () => {
    const text = JSON.stringify(vectorOf('stage-001/4.4')).replaceAll(
      '"frames":',
      '"cause":null,"suppressed":null,"frames":',
    )
    expect(await connectDifferences(JSON.parse(text) as ConnectVector)).toEqual([])
  })

  test('a vector of the other profile as different', async () => {
    expect(await connectDifferences({...vectorOf('stage-001/3.9'), profile: '4.4'})).not.toEqual([])
    expect(await connectDifferences({...vectorOf('stage-001/4.4'), profile: 'both'})).not.toEqual([])
  })

  test('draws that are missing, left over, or of another bound', async () => {
    const vector = vectorOf('retry-178')
    const withRandom = (random: object | undefined): ConnectVector =>
      ({...vector, input: {...vector.input, random}}) as ConnectVector
    expect(await connectDifferences(withRandom({bound: 5000, draws: [1095, 1]}))).toEqual([
      'P39 random: 1 draws were not made',
      'P4x random: 1 draws were not made',
    ])
    expect((await connectDifferences(withRandom({bound: 4999, draws: [1095]}))).join()).toContain('got 5000')
    expect((await connectDifferences(withRandom(undefined))).join()).toContain('a draw in [0, 5000) too many')
  })

  test.each([
    ['kind', {kind: 'other'}, 'unknown kind other'],
    ['profile', {profile: '9.9'}, 'unknown profile 9.9'],
    ['step', {input: {steps: [{do: 'dance'}]}}, 'unknown step dance'],
    ['reporter', {input: {reporters: [{kind: 'radio'}], steps: []}}, 'unknown reporter radio'],
  ])('an unknown %s', async (_what, change, message) => {
    const differences = await connectDifferences({...vectorOf('retry-001'), ...change})
    expect(differences.join()).toContain(message)
  })
})

/** Copies of a value with one leaf changed each. A message of the JVM's own may differ, so those leaves are left out. */
function mutations(value: unknown, path = ''): [string, unknown][] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      mutations(item, `${path}[${index}]`).map(([at, changed]): [string, unknown] => [at, value.with(index, changed)]),
    )
  }
  if (typeof value === 'object' && value !== null) {
    const nullPointer = 'class' in value && value.class === 'java.lang.NullPointerException'
    return Object.entries(value).flatMap(([key, part]) =>
      nullPointer && key === 'message'
        ? []
        : mutations(part, `${path}.${key}`).map(([at, changed]): [string, unknown] => [at, {...value, [key]: changed}]),
    )
  }
  if (typeof value === 'number') return [[path, value + 1]]
  if (typeof value === 'boolean') return [[path, !value]]
  return [[path, typeof value === 'string' ? `${value}.` : 'x']]
}
