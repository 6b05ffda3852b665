import {execFile} from 'node:child_process'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
let directory = ''

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kdlq-vectors-'))
})

afterAll(async () => {
  await rm(directory, {recursive: true, force: true})
})

/** Runs the vector runner as `npm run vectors --` does. */
async function vectors(...args: string[]): Promise<{code: number; stdout: string; stderr: string}> {
  const {promise, resolve} = Promise.withResolvers<{code: number; stdout: string; stderr: string}>()
  execFile(process.execPath, ['scripts/vectors.ts', ...args], {cwd: root}, (error, stdout, stderr) => {
    resolve({code: typeof error?.code === 'number' ? error.code : error === null ? 0 : 1, stdout, stderr})
  })
  return promise
}

/** What a Connect vector expects in total when nothing happens. */
const TOTALS = {
  clock: 0,
  metrics: {
    'total-record-failures': 0,
    'total-record-errors': 0,
    'total-records-skipped': 0,
    'total-retries': 0,
    'total-errors-logged': 0,
    'deadletterqueue-produce-requests': 0,
    'deadletterqueue-produce-failures': 0,
    'last-error-timestamp-set': false,
  },
  reporterCalls: [],
  dlq: [],
  log: [],
}

test('counts the vectors that pass', async () => {
  const {code, stdout} = await vectors('dialects', 'test/fixtures/dialects/connect.jsonl')
  expect(stdout).toBe('26 passed, 0 failed\n')
  expect(code).toBe(0)
})

test('prints each difference, goes on behind a vector that throws, and fails', async () => {
  const file = join(directory, 'wrong.jsonl')
  const lines = [
    {id: 'X1', headers: [['__connect.errors.stage', 's:A']], expect: {dialect: 'connect', stage: 'B'}, keep: ['x']},
    {id: 'X2', headers: [['a', 'unmarked']], expect: {dialect: 'none'}, keep: ['a']},
    {id: 'X3', headers: [], expect: {dialect: 'none'}, keep: [], replay: {blocked: ['no_topic']}},
  ]
  await writeFile(file, lines.map(line => JSON.stringify(line)).join('\n'))
  const {code, stdout} = await vectors('dialects', file)
  expect(stdout).toContain('X1\n  expect.stage: want "B", got "A"\n  keep: want ["x"], got []\nX2\n  threw: ')
  expect(stdout.endsWith('1 passed, 2 failed\n')).toBe(true)
  expect(code).toBe(1)
})

test('runs the vectors of Connect, packed or not', async () => {
  const {code, stdout} = await vectors('connect', 'test/fixtures/connect-vectors/connect-vectors.jsonl.zst')
  expect(stdout).toBe('848 passed, 0 failed\n')
  expect(code).toBe(0)
})

test('fails for a Connect vector that differs, names id and step, and for a line it cannot read', async () => {
  const file = join(directory, 'connect.jsonl')
  const input = {config: {}, records: {r: null}, reporters: [], steps: [{do: 'withinLimits'}]}
  const expected = {steps: [{result: false, counters: [0, 0, 0, 0]}]}
  await writeFile(
    file,
    `${JSON.stringify({id: 't-1', kind: 'tolerance', profile: '4.4', input, expected})}\nnot json\n`,
  )
  const {code, stdout} = await vectors('connect', file)
  expect(stdout).toContain('t-1\n  P4x steps[0].result: want false, got true\n')
  expect(stdout).toContain('line 2\n  unreadable: ')
  expect(stdout.endsWith('0 passed, 2 failed\n')).toBe(true)
  expect(code).toBe(1)
})

test('reads a file behind a byte order mark, and goes on behind one that it cannot read', async () => {
  const marked = join(directory, 'marked.jsonl')
  const broken = join(directory, 'broken.jsonl.gz')
  const input = {config: {}, records: {r: null}, reporters: [], steps: []}
  const expected = {steps: [], ...TOTALS}
  await writeFile(
    marked,
    `\ufeff${JSON.stringify({id: 't-1', kind: 'tolerance', profile: '4.4', input, expected})}\r\n`,
  )
  await writeFile(broken, Buffer.from('1f8b08', 'hex'))
  const {code, stdout, stderr} = await vectors('connect', directory, join(directory, 'none.jsonl'), broken, marked)
  expect(stdout).toContain(`${directory}\n  unreadable: EISDIR`)
  expect(stdout).toContain('none.jsonl\n  unreadable: ENOENT')
  expect(stdout).toContain('broken.jsonl.gz\n  unreadable: ')
  expect(stdout.endsWith('1 passed, 3 failed\n')).toBe(true)
  expect(stderr).toBe('')
  expect(code).toBe(1)
})

test('says how it is used', async () => {
  for (const args of [['dialects'], ['connect'], ['other', 'file']]) {
    const {code, stderr} = await vectors(...args)
    expect(stderr).toContain('npm run vectors -- dialects FILE...')
    expect(stderr).toContain('npm run vectors -- connect FILE...')
    expect(code).toBe(2)
  }
})
