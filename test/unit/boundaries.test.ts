import {execFile} from 'node:child_process'
import {mkdtemp, mkdir, rm, writeFile, readdir, cp} from 'node:fs/promises'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

interface Cruise {
  readonly summary: {
    readonly totalCruised: number
    readonly violations: readonly {readonly rule: {readonly name: string}; readonly from: string; readonly to: string}[]
  }
  readonly modules: readonly {readonly source: string}[]
}

/** The checker exits non-zero when it finds something; its JSON is on stdout either way. */
async function cruise(folder: string): Promise<Cruise> {
  const args = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', 'src']
  const bin = join(root, 'node_modules', '.bin', 'depcruise')
  const {stdout} = await run(bin, args, {cwd: folder, maxBuffer: 64 * 1024 * 1024}).catch(
    (error: {stdout: string}) => error,
  )
  return JSON.parse(stdout) as Cruise
}

let folder = ''
beforeAll(async () => {
  // Inside the project, so that node_modules is found the same way.
  await mkdir(join(root, '.cache'), {recursive: true})
  folder = await mkdtemp(join(root, '.cache', 'boundaries-'))
  for (const file of ['.dependency-cruiser.mjs', 'tsconfig.json', 'package.json']) {
    await cp(join(root, file), join(folder, file))
  }
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(join(folder, path, '..'), {recursive: true})
    await writeFile(join(folder, path), text)
  }
  await write('src/lib/kafka/low.ts', "import {high} from '../replay/high.ts'\nexport const low = high\n")
  await write('src/lib/replay/high.ts', 'export const high = 1\n')
  await write('src/lib/select/lazy.ts', "export const load = async () => import('../cli/base.ts')\n")
  await write('src/lib/cli/base.ts', "import {Command} from '@oclif/core'\nexport const base = Command\n")
  await write('src/lib/replay/client.ts', "import {Kafka} from 'kafkajs'\nexport const client = Kafka\n")
  await write('src/lib/dialects/flag.ts', "import type {Command} from '@oclif/core'\nexport type Flag = Command\n")
  await write('src/lib/render/a.ts', "import {b} from './b.ts'\nexport const a = (): unknown => b\n")
  await write('src/lib/render/b.ts', "import {a} from './a.ts'\nexport const b = (): unknown => a\n")
})
afterAll(async () => {
  await rm(folder, {recursive: true, force: true})
})

describe('boundary check', () => {
  test('finds forbidden imports (static, dynamic, type-only) and cycles', async () => {
    const {summary} = await cruise(folder)
    const found = summary.violations.map(({rule, from}) => `${rule.name} ${from}`)
    expect(found).toContain('kafka-points-down src/lib/kafka/low.ts')
    expect(found).toContain('select-points-down src/lib/select/lazy.ts')
    expect(found).toContain('only-the-client-knows-kafkajs src/lib/replay/client.ts')
    expect(found).toContain('only-cli-knows-oclif src/lib/dialects/flag.ts')
    expect(found.filter(line => line.startsWith('no-cycle src/lib/render/'))).not.toHaveLength(0)
  })

  test('sees every source file of the project and finds nothing', async () => {
    const {modules, summary} = await cruise(root)
    const seen = new Set(modules.map(({source}) => source))
    const files = (await readdir(join(root, 'src'), {recursive: true}))
      .filter(name => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map(name => `src/${name.replaceAll('\\', '/')}`)
    expect(files.filter(file => !seen.has(file))).toEqual([])
    expect(summary.violations).toEqual([])
  })
})
