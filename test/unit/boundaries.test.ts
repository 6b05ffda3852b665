import {mkdtemp, mkdir, readdir, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {cruise} from '../../scripts/boundaries.ts'
import {root} from '../../scripts/lib.ts'

/** File -> what it must not import. */
const OFFENDERS = {
  'src/lib/serde/registry/low.ts': '../../replay/high.ts',
  'src/lib/connect-rest/low.ts': '../replay/high.ts',
  'src/lib/dead-letter/discover/low.ts': '../../simulate/high.ts',
  'src/lib/connect-engine/low.ts': '../simulate/high.ts',
  'src/lib/simulate/low.ts': '../replay/high.ts',
  'src/lib/replay/low.ts': '../simulate/high.ts',
}

let folder = ''
let violations: readonly string[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-boundaries-'))
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(join(folder, path, '..'), {recursive: true})
    await writeFile(join(folder, path), text)
  }
  await write('src/lib/kafka/low.ts', "import {high} from '../replay/high.ts'\nexport const low = high\n")
  await write(
    'src/lib/replay/high.ts',
    'export function high(): number {\n  using held = {[Symbol.dispose]() {}}\n  return held === null ? 0 : 1\n}\n',
  )
  await write('src/lib/select/lazy.ts', "export const load = async () => import('../cli/base.ts')\n")
  await write('src/lib/cli/base.ts', "import {Command} from '@oclif/core'\nexport const base = Command\n")
  await write('src/lib/replay/client.ts', "import {Kafka} from 'kafkajs'\nexport const client = Kafka\n")
  await write('src/lib/dialects/flag.ts', "import type {Command} from '@oclif/core'\nexport type Flag = Command\n")
  await write('src/lib/simulate/high.ts', 'export const high = 1\n')
  for (const [path, above] of Object.entries(OFFENDERS)) {
    await write(path, `import {high} from '${above}'\nexport const low = high\n`)
  }
  await write('src/lib/render/a.ts', "import {b} from './b.ts'\nexport const a = (): unknown => b\n")
  await write('src/lib/render/b.ts', "import {a} from './a.ts'\nexport const b = (): unknown => a\n")
  violations = (await cruise(folder)).violations
})
afterAll(async () => {
  await rm(folder, {recursive: true, force: true})
})

describe('boundary check', () => {
  test('finds forbidden imports (static, dynamic, type-only) and cycles', () => {
    expect(violations).toContain('kafka-points-down src/lib/kafka/low.ts -> src/lib/replay/high.ts')
    expect(violations).toContain('select-points-down src/lib/select/lazy.ts -> src/lib/cli/base.ts')
    expect(violations.join()).toContain('only-the-client-knows-kafkajs src/lib/replay/client.ts')
    expect(violations.join()).toContain('only-cli-knows-oclif src/lib/dialects/flag.ts')
    expect(violations.filter(line => line.startsWith('no-cycle src/lib/render/'))).not.toHaveLength(0)
  })

  test('knows every folder of the library', async () => {
    const folders = await readdir(join(root, 'src/lib'), {withFileTypes: true})
    expect(violations).toEqual(
      expect.arrayContaining([
        'serde-points-down src/lib/serde/registry/low.ts -> src/lib/replay/high.ts',
        'connect-rest-points-down src/lib/connect-rest/low.ts -> src/lib/replay/high.ts',
        'dead-letter-points-down src/lib/dead-letter/discover/low.ts -> src/lib/simulate/high.ts',
        'connect-engine-points-down src/lib/connect-engine/low.ts -> src/lib/simulate/high.ts',
        'simulate-points-down src/lib/simulate/low.ts -> src/lib/replay/high.ts',
        'replay-points-down src/lib/replay/low.ts -> src/lib/simulate/high.ts',
      ]),
    )
    const rules = (await import(join(root, '.dependency-cruiser.mjs'))) as {default: {forbidden: {name: string}[]}}
    const names = rules.default.forbidden.map(({name}) => name)
    const below = folders.filter(entry => entry.isDirectory() && entry.name !== 'cli')
    expect(names).toEqual(expect.arrayContaining(below.map(({name}) => `${name}-points-down`)))
  })

  test('sees every source file of the project and finds nothing', async () => {
    const {violations: found, modules, files} = await cruise(root)
    expect(files.filter(file => !modules.has(file))).toEqual([])
    expect(found).toEqual([])
  })
})
