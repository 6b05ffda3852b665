import {mkdtemp, readdir, readFile, rm, stat, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {
  forgetLocalRun,
  localRuns,
  localRunsFolder,
  type LocalRun,
  noteLocalRun,
  refuseIfMissed,
} from '../../../src/lib/cli/local-runs.ts'
import {createRunId} from '../../../src/lib/replay/run-id.ts'

const LEDGER = {ledger: 'kdlq-ledger', clusterId: 'c-1'}
let state: string
let folder: string

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'kdlq-state-'))
  folder = localRunsFolder({XDG_STATE_HOME: state}, '/nowhere')
})

afterEach(async () => rm(state, {recursive: true}))

const runOf = (ms: number, over: {-readonly [name in keyof LocalRun]?: LocalRun[name]} = {}): LocalRun => ({
  v: 1,
  run: createRunId(ms, into => into.fill(ms & 0xff)),
  ...LEDGER,
  bootstrap: 'kafka:9092',
  startedAt: `${ms}`,
  ...over,
})

describe('local runs', () => {
  test('are files under the state folder, for their owner only, whole or not there', async () => {
    const run = runOf(1000)
    await noteLocalRun(folder, run)
    expect(folder).toBe(join(state, 'kdlq', 'runs'))
    expect(await readdir(folder)).toEqual([`${run.run}.json`])
    const path = join(folder, `${run.run}.json`)
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(run)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('are found by cluster and ledger, newest first', async () => {
    const runs = [runOf(1000), runOf(3000), runOf(2000)]
    for (const run of runs) await noteLocalRun(folder, run)
    await noteLocalRun(folder, runOf(4000, {ledger: 'other'}))
    await noteLocalRun(folder, runOf(5000, {clusterId: 'c-2'}))
    expect((await localRuns(folder, LEDGER)).map(({startedAt}) => startedAt)).toEqual(['3000', '2000', '1000'])
  })

  test('a missing ledger that none of them wrote to is nothing to refuse', async () => {
    await noteLocalRun(folder, runOf(1000, {ledger: 'other'}))
    await expect(refuseIfMissed(folder, LEDGER, 'prod')).resolves.toBeUndefined()
    await expect(refuseIfMissed(join(folder, 'none'), LEDGER, 'prod')).resolves.toBeUndefined()
  })

  test('a missing ledger that they wrote to is refused, with the runs and what to delete', async () => {
    const runs = [runOf(1000), runOf(2000)]
    for (const run of runs) await noteLocalRun(folder, run)
    const newest = runs[1]?.run ?? ''
    const error: unknown = await refuseIfMissed(folder, LEDGER, 'prod').catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'E_LEDGER_MISSING',
      exitCode: 6,
      message: `ledger kdlq-ledger is not on prod, but run ${newest} and 1 more wrote to it from this machine`,
      context: {ledger: 'kdlq-ledger', runs: runs.map(({run}) => run).toReversed()},
    })
    expect((error as {hints: readonly string[]}).hints.join('\n')).toContain(`delete ${join(folder, `${newest}.json`)}`)
    for (const run of runs) await forgetLocalRun(folder, run)
    await expect(refuseIfMissed(folder, LEDGER, 'prod')).resolves.toBeUndefined()
  })

  test.each(['', '{', '[]', 'null', '{"v":2}', '{"v":1,"run":7}'])(
    'a file that holds %j is none of ours',
    async text => {
      await noteLocalRun(folder, runOf(1000))
      await writeFile(join(folder, `${runOf(2000).run}.json`), text)
      await writeFile(join(folder, 'notes.json'), JSON.stringify(runOf(3000)))
      expect(await localRuns(folder, LEDGER)).toHaveLength(1)
    },
  )

  test('of one ledger only the newest hundred are kept', async () => {
    const other = runOf(1, {ledger: 'other'})
    await noteLocalRun(folder, other)
    for (let ms = 1000; ms < 1103; ms++) await noteLocalRun(folder, runOf(ms))
    const kept = await localRuns(folder, LEDGER)
    expect(kept).toHaveLength(100)
    expect(kept.at(-1)?.startedAt).toBe('1003')
    expect(await localRuns(folder, other)).toEqual([other])
  })

  test('a place that cannot be written is told, and leaves nothing behind', async () => {
    await writeFile(join(state, 'kdlq'), 'in the way')
    await expect(noteLocalRun(folder, runOf(1000))).rejects.toMatchObject({code: 'E_STATE'})
    expect(await readdir(state)).toEqual(['kdlq'])
    expect(await localRuns(folder, LEDGER)).toEqual([])
  })
})
