import {mkdtemp, mkdir, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {cruise} from '../../scripts/boundaries.ts'
import {root} from '../../scripts/lib.ts'

let folder = ''
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
  await write('src/lib/render/a.ts', "import {b} from './b.ts'\nexport const a = (): unknown => b\n")
  await write('src/lib/render/b.ts', "import {a} from './a.ts'\nexport const b = (): unknown => a\n")
})
afterAll(async () => {
  await rm(folder, {recursive: true, force: true})
})

describe('boundary check', () => {
  test('finds forbidden imports (static, dynamic, type-only) and cycles', async () => {
    const {violations} = await cruise(folder)
    expect(violations).toContain('kafka-points-down src/lib/kafka/low.ts -> src/lib/replay/high.ts')
    expect(violations).toContain('select-points-down src/lib/select/lazy.ts -> src/lib/cli/base.ts')
    expect(violations.join()).toContain('only-the-client-knows-kafkajs src/lib/replay/client.ts')
    expect(violations.join()).toContain('only-cli-knows-oclif src/lib/dialects/flag.ts')
    expect(violations.filter(line => line.startsWith('no-cycle src/lib/render/'))).not.toHaveLength(0)
  })

  test('sees every source file of the project and finds nothing', async () => {
    const {violations, modules, files} = await cruise(root)
    expect(files.filter(file => !modules.has(file))).toEqual([])
    expect(violations).toEqual([])
  })
})
