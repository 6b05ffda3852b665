import {mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {dev, type Ended, fixture, node, start} from './support/kdlq.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-stats-'))
})
afterAll(() => rm(folder, {recursive: true, force: true}))

async function stats(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const running = start(node, [dev, 'stats', ...args], env)
  running.child.stdin.end()
  return running.ended
}

interface Group {
  readonly by: Record<string, string | null>
  readonly count: number
  readonly change?: string
  readonly before?: number
  readonly verdict?: string
  readonly verdictReason?: string
}

function groupsOf({stdout}: Ended): readonly Group[] {
  return (JSON.parse(stdout) as {result: {groups: readonly Group[]}}).result.groups
}

describe.concurrent('stats with files', () => {
  test('compares with a baseline: new, grown, same and gone', async () => {
    const part = join(folder, 'part.ndjson')
    const lines = (await readFile(fixture, 'utf8')).trimEnd().split('\n')
    await writeFile(part, `${lines.slice(0, -2).join('\n')}\n`)
    const file = join(folder, 'part.json')
    expect(await stats([part, '--by', 'stage', '--save-baseline', file, '-q'])).toMatchObject({code: 0, stderr: ''})
    const [now = [], before = [], back = []] = await Promise.all(
      [
        [fixture, '--by', 'stage', '--baseline', file],
        [part, '--by', 'stage'],
        [part, '--by', 'stage', '--stage', 'TASK_PUT', '--baseline', file],
      ].map(async args => groupsOf(await stats([...args, '--json', '-q']))),
    )
    for (const {by, count, change, before: was} of now) {
      const old = before.find(group => group.by['stage'] === by['stage'])?.count
      expect({by, change, was}).toEqual({
        by,
        change: old === undefined ? 'new' : count > old ? 'grown' : 'same',
        was: old,
      })
    }
    expect(new Set(now.map(({change}) => change)).size).toBeGreaterThan(1)
    expect(back.map(({change, count}) => [change, count])).toContainEqual(['gone', 0])
  })

  test('reads only what came behind a baseline, and calls it growth', async () => {
    const file = join(folder, 'ends.json')
    await stats([fixture, '--save-baseline', file, '-q'])
    const nothing = await stats([fixture, '--from', `baseline:${file}`, '--baseline', file, '--json', '-q'])
    expect(groupsOf(nothing)).toEqual([])
  })

  test('refuses a baseline of other words before it reads anything', async () => {
    const file = join(folder, 'words.json')
    await stats([fixture, '--by', 'stage', '--save-baseline', file, '-q'])
    const {code, stderr, stdout} = await stats([fixture, '--baseline', file])
    expect({code, stdout}).toEqual({code: 2, stdout: ''})
    expect(stderr).toContain('has groups by stage, not by fingerprint')
  })

  test('a baseline that is not there is told with its name', async () => {
    const {code, stderr} = await stats([fixture, '--baseline', join(folder, 'none.json')])
    expect(code).toBe(1)
    expect(stderr).toContain('none.json cannot be read')
  })

  test('writes a page beside the answer, whole, and nothing else', async () => {
    const out = join(folder, 'page.html')
    const {code, stdout, stderr} = await stats([fixture, '--html', out, '-o', 'csv'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^count,share,/)
    expect(stderr).toContain(`page written to ${out}`)
    const page = await readFile(out, 'utf8')
    expect(page).toMatch(/<\/html>\n$/)
    expect(page).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    expect((await readdir(folder)).filter(name => name.startsWith('page'))).toEqual(['page.html'])
  })

  test('own verdicts go first, by flag, variable and configuration', async () => {
    const rules = join(folder, 'verdicts.yaml')
    await writeFile(rules, '- {verdict: never, stage: TASK_PUT, reason: retired}\n')
    const config = join(folder, '.config', 'kdlq')
    await mkdir(config, {recursive: true})
    await writeFile(join(config, 'config.yaml'), `defaults: {verdicts: ${rules}}\n`)
    const given = await Promise.all([
      stats([fixture, '--by', 'stage', '--json', '-q', '--verdicts', rules]),
      stats([fixture, '--by', 'stage', '--json', '-q'], {KDLQ_VERDICTS: rules}),
      stats([fixture, '--by', 'stage', '--json', '-q'], {XDG_CONFIG_HOME: join(folder, '.config')}),
    ])
    for (const ended of given) {
      const group = groupsOf(ended).find(({by}) => by['stage'] === 'TASK_PUT')
      expect(group).toMatchObject({verdict: 'never', verdictReason: 'retired'})
    }
  })
})
