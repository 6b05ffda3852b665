import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {readPlanFile, writePlanFile} from '../../../src/lib/replay/plan-file.ts'
import {planReplay} from '../../../src/lib/replay/plan-replay.ts'
import {validatePlan} from '../../../src/lib/replay/plan-validate.ts'
import type {ReplayPlan} from '../../../src/lib/replay/plan.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {archiveOf, closeArchives, deadLetter, FakeTarget, inputFor, NOW} from './support.ts'

let dir: string
let plan: ReplayPlan

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kdlq-plan-'))
  const source = await archiveOf([deadLetter(0), deadLetter(1, {value: null})])
  const target = new FakeTarget({orders: {partitions: 6, configs: {'max.message.bytes': '1000', 'retention.ms': '-1'}}})
  const input = await inputFor(source, {skip: ['tombstone'], rate: 500})
  plan = (await planReplay({source, target, clock: new FakeClock({now: NOW})}, input)).plan
})

afterEach(async () => {
  await closeArchives()
  await rm(dir, {recursive: true})
})

const changed = (path: readonly (string | number)[], value: unknown): unknown => {
  const copy = structuredClone(plan) as unknown as Record<string | number, unknown>
  let at: Record<string | number, unknown> = copy
  for (const name of path.slice(0, -1)) at = at[name] as Record<string | number, unknown>
  const last = path.at(-1) ?? ''
  if (value === undefined) delete at[last]
  else at[last] = value
  return copy
}

describe('a plan file', () => {
  test('comes back as it was written, and leaves no other file behind', async () => {
    const path = join(dir, 'plan.json')
    await writePlanFile(path, plan)
    await writePlanFile(path, plan)
    expect(await readPlanFile(path)).toEqual(plan)
    expect(await readdir(dir)).toEqual(['plan.json'])
  })

  test('that cannot be written leaves nothing behind', async () => {
    await expect(writePlanFile(join(dir, 'missing', 'plan.json'), plan)).rejects.toMatchObject({
      code: 'E_PLAN_WRITE',
      exitCode: 1,
    })
    await expect(writePlanFile(dir, plan)).rejects.toMatchObject({code: 'E_PLAN_WRITE'})
    expect(await readdir(dir)).toEqual([])
  })

  test('that is missing or no JSON is told apart', async () => {
    await expect(readPlanFile(join(dir, 'none.json'))).rejects.toMatchObject({code: 'E_PLAN_READ', exitCode: 1})
    await writeFile(join(dir, 'text.json'), 'no json')
    await expect(readPlanFile(join(dir, 'text.json'))).rejects.toMatchObject({code: 'E_PLAN_INVALID', exitCode: 2})
  })
})

describe('validatePlan', () => {
  test('reads a plan of version 2 as one that parks nothing and goes on behind failures', () => {
    const {errors: _, parking: __, samples: ____, ...rest} = plan
    const {parked: ___, ...counts} = plan.counts
    const read = validatePlan({...rest, counts, sample: null, planVersion: 2})
    expect(read).toEqual({...plan, parking: null, samples: []})
    expect(read.errors).toMatchObject({tolerance: 'all', retryTimeoutMs: '0'})
  })

  test('a plan of version 2 with members of version 3 is neither', () => {
    expect(() => validatePlan({...plan, planVersion: 2})).toThrow('version 2 is not known')
  })

  test('refuses another version and says what to do', () => {
    expect(() => validatePlan({...plan, planVersion: 1})).toThrow(
      'plan file: version 1 is not known, this kdlq reads 3',
    )
  })

  test('refuses numbers that do not agree, and a range that comes twice', () => {
    const [range] = plan.source.ranges
    expect(() => validatePlan(plan)).not.toThrow()
    for (const edited of [
      changed(['counts', 'selected'], 1),
      changed(['counts', 'toReplay'], 0),
      changed(['counts', 'held'], 1),
      changed(['source', 'ranges', 0, 'selected'], 9),
      changed(['targets'], []),
      changed(['targets', 0, 'count'], 7),
      changed(['source', 'ranges', 0, 'from'], '9'),
      changed(['source', 'ranges'], [range, {...range, selected: 0}]),
    ]) {
      expect(() => validatePlan(edited)).toThrow(/^plan file: /)
    }
  })

  test.each([
    [['planVersion'], undefined, 'planVersion must be given'],
    [['errors', 'tolerance'], 'some', 'errors.tolerance must be one of "none", "all"'],
    [['errors', 'retryDelayMaxMs'], '0', 'errors.retryDelayMaxMs must be at least 1, as text'],
    [['parking'], {topic: 'x'}, 'parking.topicId must be given'],
    [['counts', 'parked'], 1, 'counts.selected must be toReplay + skipped + held + parked + refused'],
    [['createdAt'], 'now', 'createdAt must be a whole number, as text'],
    [['rate'], 0, 'rate must be a number above 0'],
    [['rate'], '500', 'rate must be a number above 0'],
    [['source', 'ranges', 0, 'from'], 0, 'source.ranges[0].from must be an offset, as text'],
    [['source', 'ranges', 0, 'from'], '-1', 'source.ranges[0].from must be an offset, as text'],
    [['source', 'ranges', 0, 'to'], '01', 'source.ranges[0].to must be an offset, as text'],
    [['source', 'ranges', 0, 'partition'], 1.5, 'source.ranges[0].partition must be a whole number, at least 0'],
    [
      ['source', 'exclude'],
      [{topic: 'a', partition: 0, offsets: ['5', '4']}],
      'source.exclude[0].offsets must be a list of offsets',
    ],
    [
      ['source', 'exclude'],
      [{topic: 'a', partition: 0, offsets: ['9-7']}],
      'source.exclude[0].offsets must be a list of offsets',
    ],
    [['source', 'filters', 'include'], {stages: ['X']}, "source.filters: unknown filter 'stages'"],
    [['target', 'partitionRule'], 'hash', 'target.partitionRule must be one of "origin", "key"'],
    [['headers', 'set'], [{name: 'a'}], 'headers.set[0].value must be given'],
    [['headers', 'strip'], 'yes', 'headers.strip must be true or false'],
    [['allow'], ['pointer'], 'allow[0] must be one of'],
    [['skip'], ['tombstones'], 'skip[0] must be one of'],
    [['delivery'], 'idempotent', 'delivery must be one of "exactly-once", "at-least-once"'],
    [['ledger'], {kind: 'topic'}, 'ledger.name must be given'],
    [['ledger'], {kind: 'none', path: 'x'}, 'ledger.path must be left out: this version does not know it'],
    [['handled'], 'all', 'handled must be one of "hide", "show", "only"'],
    [['maxAttempts'], 0, 'maxAttempts must be a whole number, at least 1'],
    [['source', 'held'], null, 'source.held must be a list'],
    [['counts', 'toReplay'], -1, 'counts.toReplay must be a whole number, at least 0'],
    [['transform'], 'x', 'transform must be left out: this version does not know it'],
    [['target', 'topics', 0, 'ledger'], 'x', 'target.topics[0].ledger must be left out: this version does not know it'],
    [['targets'], {}, 'targets must be a list'],
    [['samples'], 'x', 'samples must be a list'],
  ])('names the place: %j = %j', (path, value, message) => {
    expect(() => validatePlan(changed(path, value))).toThrow(message)
  })

  test.each([null, 1, 'plan', [], {}])('%j is no plan', value => {
    expect(() => validatePlan(value)).toThrow('plan file')
  })
})
