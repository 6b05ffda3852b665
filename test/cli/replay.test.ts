import {spawn} from 'node:child_process'
import {existsSync} from 'node:fs'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'

const root = process.cwd()
let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kdlq-replay-'))
})

afterAll(async () => rm(dir, {recursive: true}))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The program on its sources, in a folder of its own, with what is given on stdin. */
async function kdlq(
  args: readonly string[],
  options: {stdin?: string; env?: Record<string, string>} = {},
): Promise<Ended> {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('KDLQ_') && name !== 'FORCE_COLOR')
  const child = spawn(join(root, 'node_modules/.bin/node'), [join(root, 'bin/dev.js'), 'replay', ...args], {
    cwd: dir,
    env: {...Object.fromEntries(kept), XDG_CONFIG_HOME: join(dir, 'config'), NODE_ENV: 'production', ...options.env},
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.end(options.stdin ?? '')
  const code = await new Promise<number | null>(resolve => {
    child.once('close', resolve)
  })
  return {code, stdout, stderr}
}

interface Document {
  readonly result: {
    readonly run: string | null
    readonly plan: {readonly counts: Record<string, number>; readonly headers: unknown}
    readonly checks: readonly {readonly id: string; readonly level: string; readonly addresses: readonly string[]}[]
    readonly counts: Record<string, number>
    readonly targets: readonly unknown[]
  }
  readonly error?: {readonly code: string; readonly exitCode: number}
}

const parse = (text: string): Document => JSON.parse(text) as Document
const line = (offset: number, value: string | null, origin = offset): string =>
  JSON.stringify({
    topic: 'orders-dlq',
    partition: 0,
    offset: String(offset),
    timestamp: '1764500000000',
    key: 'k',
    value,
    headers: [
      ['__connect.errors.topic', 'orders'],
      ['__connect.errors.partition', '2'],
      ['__connect.errors.offset', String(origin)],
      ['__connect.errors.connector.name', 'c'],
      ['__connect.errors.task.id', '0'],
      ['__connect.errors.stage', 'TASK_PUT'],
      ['__connect.errors.class.name', 'x'],
    ],
  })

describe('kdlq replay', () => {
  test('plans on stdout, talks on stderr, and with --dry-run leaves no trace', async () => {
    const {code, stdout, stderr} = await kdlq(['-', '--to-archive', 'dry', '--dry-run'], {stdin: `${line(0, 'a')}\n`})
    expect(code).toBe(0)
    expect(stdout).toContain('1 selected, 1 to replay')
    expect(stdout).toContain('of the archive, exactly once; handled records are left out')
    expect(stderr).toContain('dry run: nothing was written')
    expect(existsSync(join(dir, 'dry'))).toBe(false)
  })

  test('an archive on stdin goes into an archive, and the document says what became of it', async () => {
    const stdin = [line(0, 'a'), line(1, 'b')].join('\n')
    const {code, stdout} = await kdlq(['-', '--to-archive', 'out', '--yes', '--json'], {stdin})
    expect(code).toBe(0)
    const {result} = parse(stdout)
    expect(result.run).toMatch(/^r-[0-9A-Z]{26}$/)
    expect(result.counts).toEqual({
      selected: 2,
      replayed: 2,
      parked: 0,
      discarded: 0,
      skipped: 0,
      held: 0,
      delayed: 0,
      failed: 0,
      unknown: 0,
      gone: 0,
      cameBack: 0,
    })
    expect(result.targets).toEqual([{topic: 'orders', partition: 2, count: 2}])
    const [first] = (await readFile(join(dir, 'out', 'orders.ndjson'), 'utf8')).split('\n')
    expect(JSON.parse(first ?? '')).toMatchObject({
      topic: 'orders',
      partition: 2,
      value: 'a',
      timestamp: '1764500000000',
    })
  })

  test('without a terminal and without --yes it refuses, names the flag, and still gives the plan', async () => {
    const {code, stdout} = await kdlq(['-', '--to-archive', 'asked', '--json'], {stdin: `${line(0, 'a')}\n`})
    expect(code).toBe(6)
    expect(parse(stdout)).toMatchObject({
      result: {run: null, plan: {counts: {toReplay: 1}}},
      error: {code: 'E_NO_TERMINAL', exitCode: 6, hints: [expect.stringContaining('--yes')]},
    })
    expect(existsSync(join(dir, 'asked'))).toBe(false)
  })

  test('a refusing check: exit 6 with the check, its addresses, and nothing written', async () => {
    const {code, stdout} = await kdlq(['-', '--to-archive', 'refused', '--yes', '--json'], {
      stdin: `${line(0, null)}\n`,
    })
    expect(code).toBe(6)
    const {result, error} = parse(stdout)
    expect(result.checks.find(({id}) => id === 'tombstone')).toMatchObject({
      level: 'refuse',
      addresses: ['orders-dlq:0:0'],
    })
    expect(error?.code).toBe('E_CHECKS_REFUSED')
    expect(existsSync(join(dir, 'refused'))).toBe(false)
    const skipped = await kdlq(['-', '--to-archive', 'skipped', '--yes', '--skip', 'tombstone'], {
      stdin: `${line(0, null)}\n`,
    })
    expect(skipped.code).toBe(0)
    expect(skipped.stderr).toContain('0 replayed, 1 skipped')
  })

  test('[BR-74] nothing selected says so: exit 0, or 3 with --fail-if-empty', async () => {
    const args = ['-', '--to-archive', 'none', '--yes', '--stage', 'KEY_CONVERTER']
    const empty = await kdlq(args, {stdin: `${line(0, 'a')}\n`})
    expect(empty.code).toBe(0)
    expect(empty.stderr).toContain('0 records selected, nothing to replay')
    expect((await kdlq([...args, '--fail-if-empty'], {stdin: `${line(0, 'a')}\n`})).code).toBe(3)
  })

  test('[CR-02] a broken line is an error with its number, never a record', async () => {
    const {code, stderr} = await kdlq(['-', '--to-archive', 'broken', '--yes'], {stdin: `${line(0, 'a')}\n{"topic":\n`})
    expect(code).toBe(1)
    expect(stderr).toContain('2')
    expect(existsSync(join(dir, 'broken'))).toBe(false)
  })

  test('a saved plan is executed on the same archive, and on no other', async () => {
    await writeFile(join(dir, 'a.ndjson'), `${line(0, 'a')}\n${line(1, 'b')}\n`)
    const saved = await kdlq([
      './a.ndjson',
      '--to-archive',
      'planned',
      '--dry-run',
      '--plan-out',
      'plan.json',
      '--limit',
      '1',
    ])
    expect(saved.code).toBe(0)
    const done = await kdlq(['--plan', 'plan.json', '--to-archive', 'planned', '--yes', '--json'])
    expect(done.code).toBe(0)
    expect(parse(done.stdout).result.counts).toMatchObject({selected: 1, replayed: 1})
    const other = await kdlq(['--plan', 'plan.json', '--to-archive', 'elsewhere', '--yes'])
    expect(other.code).toBe(6)
    expect(other.stderr).toContain('the plan is for target archive:planned')
    const dry = await kdlq(['--plan', 'plan.json', '--to-archive', 'elsewhere', '--dry-run', '--json'])
    expect(dry.code).toBe(6)
    expect(parse(dry.stdout).error).toMatchObject({code: 'E_PLAN_CLUSTER', exitCode: 6})
    expect(existsSync(join(dir, 'elsewhere'))).toBe(false)
  })

  test.each([
    [['--plan', 'p.json', 'orders-dlq'], '--plan executes what is in the file, without a SOURCE'],
    [['--plan', 'p.json', '--rate', '5/s'], 'without --rate'],
    [['--plan', 'p.json', '--stage', 'TASK_PUT'], 'without --stage'],
    [[], 'no SOURCE is named'],
    [['--plan', ''], '--plan is empty'],
    [['example:orders-dlq', '--to-archive', ''], '--to-archive is empty'],
    [['example:orders-dlq', '--to-archive', 'x', '--allow', 'tombstne'], "did you mean 'tombstone'?"],
    [['example:orders-dlq', '--to-archive', 'x', '--allow', 'pointer'], 'check pointer cannot be allowed'],
    [['example:orders-dlq', '--to-archive', 'x', '--rate', '500'], '500/s'],
    [['example:orders-dlq', '--to-archive', 'x', '--max-failed', '120%'], '--max-failed'],
    [['example:orders-dlq', '--to-archive', 'x', '--set-header', 'name'], 'NAME=VALUE'],
    [['example:orders-dlq', '--to-archive', 'x', '--parking-topic', 'a b'], '--parking-topic is no legal topic name'],
    [['example:orders-dlq', '--to-archive', 'x', '--errors-retry-delay-max', '0'], 'must be at least 1ms'],
    [['example:orders-dlq', '--to-archive', 'x', '--errors-retry-timeout', '1.5s'], '--errors-retry-timeout'],
    [['--plan', 'p.json', '--parking-topic', 'p'], 'without --parking-topic'],
    [['example:orders-dlq', '--yes'], '--bootstrap-server'],
  ])('wrong use is exit 2: %j', async (args, message) => {
    const {code, stderr} = await kdlq(args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  /** Replayed three times already. */
  const capped = (offset: number): string => {
    const record = JSON.parse(line(offset, `capped ${offset}`)) as {headers: unknown[]}
    const provenance = JSON.stringify({run: 'r-0', attempt: 3, deadLetter: 'orders-dlq:0:9'})
    return JSON.stringify({...record, headers: [['kdlq.replay', provenance], ...record.headers]})
  }

  test('a record at the cap is parked in the archive, by policy: exit 0, and the next run leaves it out', async () => {
    const stdin = [line(0, 'a'), capped(1)].join('\n')
    const args = ['-', '--to-archive', 'parked', '--parking-topic', 'orders-parking', '--yes', '--json']
    const first = await kdlq(args, {stdin})
    expect(first.code).toBe(0)
    const {result} = parse(first.stdout)
    expect(result.counts).toMatchObject({selected: 2, replayed: 1, parked: 1, held: 0, failed: 0})
    expect(result).toMatchObject({
      parking: {topic: 'orders-parking', failed: 0, policy: 1},
      metrics: {'total-record-failures': 0, 'deadletterqueue-produce-requests': 0},
    })
    expect(first.stderr).toContain('1 replayed, 1 parked')
    const [parked] = (await readFile(join(dir, 'parked', 'orders-parking.ndjson'), 'utf8')).split('\n')
    expect(JSON.parse(parked ?? '')).toMatchObject({topic: 'orders-parking', partition: 0, value: 'capped 1'})
    const again = await kdlq(args, {stdin})
    expect(again.code).toBe(0)
    expect(parse(again.stdout).result.counts).toMatchObject({selected: 2, skipped: 2, parked: 0})
  })

  test('parkingTopic of the configuration is taken, --parking-topic wins, an empty one is none', async () => {
    await writeFile(join(dir, '.kdlq.yaml'), 'parkingTopic: from-file\n')
    const of = async (...flags: string[]): Promise<unknown> => {
      const {stdout} = await kdlq(['-', '--to-archive', 'setting', '--dry-run', '--json', ...flags], {
        stdin: line(0, 'a'),
      })
      return (parse(stdout).result.plan as {parking?: {topic: string} | null}).parking?.topic ?? null
    }
    expect([await of(), await of('--parking-topic', 'mine'), await of('--parking-topic', '')]).toEqual([
      'from-file',
      'mine',
      null,
    ])
    await rm(join(dir, '.kdlq.yaml'))
  })

  test('error handling is part of a plan; flags beside --plan win', async () => {
    const from = ['example:invoices-dlq', '--to-archive', 'errors']
    const given = ['--errors-tolerance', 'none', '--errors-retry-timeout', '-1', '--errors-retry-delay-max', '500']
    const {stdout, code} = await kdlq([...from, ...given, '--errors-log', '--dry-run', '--plan-out', 'errors.json'])
    expect(code).toBe(0)
    expect(stdout).toContain(
      'errors   stop at the first failed record; retry without end, every 500 ms at most; logged',
    )
    const saved = await kdlq([
      '--plan',
      'errors.json',
      '--to-archive',
      'errors',
      '--errors-tolerance',
      'all',
      '--yes',
      '--json',
    ])
    expect(saved.code).toBe(0)
    expect(parse(saved.stdout).result.plan).toMatchObject({
      errors: {tolerance: 'all', retryTimeoutMs: '-1', retryDelayMaxMs: '500', log: true, logIncludeMessages: false},
    })
  })

  test('a log of errors that cannot be opened ends the run before anything is written', async () => {
    const args = ['-', '--to-archive', 'unlogged', '--errors-log-file', 'none/e.log', '--yes', '--json']
    const {code, stdout} = await kdlq(args, {stdin: line(0, 'a')})
    expect(code).toBe(1)
    expect(parse(stdout)).toMatchObject({result: {run: null}, error: {code: 'E_ERRORS_LOG'}})
    expect(existsSync(join(dir, 'unlogged'))).toBe(false)
  })

  test('stripHeaders of the configuration are part of the plan', async () => {
    await writeFile(join(dir, '.kdlq.yaml'), 'stripHeaders: [x-internal]\n')
    const {code, stdout} = await kdlq(['-', '--to-archive', 'strip', '--yes', '--json'], {stdin: `${line(0, 'a')}\n`})
    expect(code).toBe(0)
    expect(parse(stdout).result.plan.headers).toMatchObject({drop: ['x-internal']})
    await rm(join(dir, '.kdlq.yaml'))
  })

  test('csv holds the targets of the plan', async () => {
    const {stdout} = await kdlq(['-', '--to-archive', 'csv', '--dry-run', '--output', 'csv'], {
      stdin: `${line(0, 'a')}\n`,
    })
    expect(stdout).toMatch(/^topic,partition,records,bytes\r\norders,2,1,\d+\r\n$/)
  })
})
