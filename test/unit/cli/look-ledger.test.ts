import {existsSync} from 'node:fs'
import {mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {CaseResult} from '../../golden/support/cases.ts'
import {runLines} from '../../support/run-lines.ts'

const dlq = 'example:orders-dlq'
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-look-'))
  const replay = ['replay', dlq, '--partition', '0', '--limit', '2', '--to-archive', join(folder, 'out'), '--yes']
  const [done] = await run([replay])
  if (done?.code !== 0) throw new Error(done?.stderr)
}, 60_000)
afterAll(async () => rm(folder, {recursive: true, force: true}))

interface Asked {
  readonly lines: readonly (readonly string[])[]
  readonly answer: PromiseWithResolvers<readonly CaseResult[]>
}
const asked: Asked[] = []

/** Runs the whole program once for each command line; what tests that run side by side ask for goes into one child process. */
async function run(lines: Asked['lines']): Promise<readonly CaseResult[]> {
  const answer = Promise.withResolvers<readonly CaseResult[]>()
  if (asked.push({lines, answer}) === 1) setImmediate(() => void runAsked())
  return answer.promise
}

async function runAsked(): Promise<void> {
  const together = asked.splice(0)
  try {
    const results = [
      ...(await runLines(
        together.flatMap(({lines}) => lines),
        folder,
      )),
    ]
    for (const {lines, answer} of together) answer.resolve(results.splice(0, lines.length))
  } catch (error) {
    for (const {answer} of together) answer.reject(error)
  }
}

const ledgerFile = (): string => join(folder, 'out', 'kdlq-ledger.ndjson')
const ledger = (): string[] => ['--ledger', `file:${ledgerFile()}`]
const HANDLED = ['orders-dlq:0:0', 'orders-dlq:0:1']

interface Row {
  readonly address: string
  readonly handled?: {readonly state: string; readonly run: string; readonly by: string | null} | null
  readonly history?: readonly unknown[]
}

function rows({stdout}: CaseResult | undefined = {stdout: '', stderr: '', code: 0}): readonly Row[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Row)
}

const inspect = (...flags: readonly string[]): string[] => ['inspect', dlq, '-o', 'jsonl', ...flags]
const addresses = (result: CaseResult | undefined): string[] => rows(result).map(({address}) => address)

describe.concurrent('looking at dead letters through a ledger', () => {
  test('the field is absent without a ledger, null without an entry, and says what was done', async () => {
    const [without, through] = await run([inspect('--limit', '3'), inspect('--limit', '3', ...ledger())])
    expect(rows(without).map(row => 'handled' in row)).toEqual([false, false, false])
    const [first, second, third] = rows(through)
    const {run: id, by, ...rest} = first?.handled ?? {}
    expect(id).toMatch(/^r-[0-9A-Z]{26}$/)
    expect(by).not.toBe('')
    expect(rest).toEqual({
      state: 'replayed',
      at: '1764507200000',
      attempt: 1,
      target: {topic: 'orders', partition: 2, offset: '0'},
      reason: null,
    })
    expect(second?.handled?.state).toBe('replayed')
    expect(third?.handled).toBeNull()
  })

  test('hide and only part the records; --limit and --tail count what is left', async () => {
    const [all, hidden, only, limited, tail, lastOfOnly] = await run([
      inspect(),
      inspect('--handled', 'hide', ...ledger()),
      inspect('--handled', 'only', ...ledger()),
      inspect('--handled', 'hide', '--limit', '2', ...ledger()),
      inspect('--handled', 'only', '--tail', '5', ...ledger()),
      inspect('--handled', 'only', '--tail', '1', ...ledger()),
    ])
    const open = addresses(all).filter(address => !HANDLED.includes(address))
    expect(addresses(only)).toEqual(HANDLED)
    expect(addresses(hidden)).toEqual(open)
    expect(addresses(limited)).toEqual(open.slice(0, 2))
    // By timestamp, as --tail orders: both are far from the end of the topic.
    expect(addresses(tail).toSorted()).toEqual(HANDLED)
    expect(addresses(lastOfOnly)).toEqual(['orders-dlq:0:0'])
  })

  test('goes together with other filters, --where over handled among them', async () => {
    const [stage, where, times, none] = await run([
      inspect('--handled', 'only', '--stage', 'TRANSFORMATION', ...ledger()),
      inspect('--where', 'handled.target.partition == 2 && handled.attempt == 1', ...ledger()),
      inspect('--where', 'handled.at > timestamp("2025-01-01T00:00:00Z") && !handled.stale', ...ledger()),
      inspect('--where', 'handled == null', '--limit', '1'),
    ])
    expect(addresses(stage)).toEqual(['orders-dlq:0:0'])
    expect(addresses(where)).toEqual(['orders-dlq:0:0'])
    expect(addresses(times)).toEqual(HANDLED)
    expect(none?.stderr).toContain('no ledger was read, so handled is null in --where')
  })

  test('stats counts and export writes only what --handled leaves', async () => {
    const out = join(folder, 'open.ndjson')
    const [stats, saved] = await run([
      ['stats', dlq, '--json', '--handled', 'only', ...ledger()],
      ['export', dlq, '--out', out, '--handled', 'only', ...ledger()],
    ])
    expect(JSON.parse(stats?.stdout ?? '')).toMatchObject({result: {total: 2}})
    expect(saved).toMatchObject({code: 0})
    const lines = (await readFile(out, 'utf8')).split('\n').filter(line => line.includes('"offset"'))
    expect(lines).toHaveLength(2)
    expect(lines.join()).not.toContain('"handled"')
  })

  test('show prints every run that did something to the record, oldest first', async () => {
    const twice = join(folder, 'twice')
    const replay = ['replay', dlq, '--partition', '0', '--limit', '1', '--to-archive', twice, '--yes']
    const [once, again, show] = await run([
      replay,
      [...replay, '--handled', 'only'],
      ['show', 'orders-dlq:0:0', '--archive', dlq, '--ledger', `file:${join(twice, 'kdlq-ledger.ndjson')}`],
    ])
    const entries = [once, again].map(result => /(r-\w{26}): 1 replayed/.exec(result?.stderr ?? '')?.[1])
    const told = [...(show?.stdout ?? '').matchAll(/^replayed .*?(r-\w{26}).*attempt (\d)/gm)]
    expect(told.map(([, id, attempt]) => [id, attempt])).toEqual([
      [entries[0], '1'],
      [entries[1], '2'],
    ])
  })

  test('show says which entry is stale, and only does not count it', async () => {
    const file = await readFile(ledgerFile(), 'utf8')
    const [text, json] = await run([
      ['show', dlq, '--handled', 'only', '--limit', '1', ...ledger()],
      ['show', 'orders-dlq:0:5', '--archive', dlq, '-o', 'jsonl', ...ledger()],
    ])
    expect(text?.stdout).toMatch(/\nLedger\nreplayed 2025-11-30T12:53:20.000Z, r-\w{26}, .*attempt 1, to orders:2:0\n/)
    expect(rows(json)[0]).toMatchObject({handled: null, history: []})
    // The same ledger, about other bytes at that address.
    const other = join(folder, 'stale.ndjson')
    const changed = file.replaceAll(/(sha256\\?":\s*\\?")[0-9a-f]{8}/g, '$100000000')
    expect(changed).not.toBe(file)
    await writeFile(other, changed)
    const through = ['--ledger', `file:${other}`]
    const [stale, only] = await run([
      ['show', 'orders-dlq:0:0', '--archive', dlq, ...through],
      inspect('--handled', 'only', ...through),
    ])
    expect(stale?.stdout).toContain('stale: about another record that stood here')
    expect(addresses(only)).toEqual([])
  })
})

test('a ledger that is not there is refused, without an offer to make one, and none is made', async () => {
  const missing = join(folder, 'none.ndjson')
  const before = await readdir(folder)
  const [refused, without, unnamed] = await run([
    inspect('--handled', 'hide', '--ledger', `file:${missing}`),
    inspect('--handled', 'hide', '--ledger', 'none'),
    inspect('--handled', 'hide'),
  ])
  expect(refused).toMatchObject({code: 6, stdout: ''})
  expect(refused?.stderr).toContain(`there is no ledger ${missing}`)
  expect(refused?.stderr).not.toContain('--create-ledger')
  expect(without).toMatchObject({code: 2})
  expect(unnamed).toMatchObject({code: 2, stdout: ''})
  expect(unnamed?.stderr).toContain('--ledger file:PATH')
  expect(existsSync(missing)).toBe(false)
  expect(await readdir(folder)).toEqual(before)
})
