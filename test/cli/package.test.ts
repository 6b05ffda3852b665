import {execFile} from 'node:child_process'
import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const env = {
  ...process.env,
  PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
  NO_COLOR: '1',
}

/** What a user gets: the packed tarball, installed into an empty folder, without install scripts. */
describe('the packed package', () => {
  let folder = ''
  let packed: string[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kdlq-package-'))
    const {stdout} = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
      env,
    })
    packed = (JSON.parse(stdout) as {files: {path: string}[]}[])[0]?.files.map(file => file.path) ?? []
    await writeFile(join(folder, 'package.json'), '{"name": "user", "private": true, "type": "module"}')
    const [tarball] = (await readdir(folder)).filter(name => name.endsWith('.tgz'))
    await run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`], {
      cwd: folder,
      env,
    })
  }, 240_000)

  afterAll(async () => {
    await rm(folder, {recursive: true, force: true})
  })

  test('holds what runs and nothing else', () => {
    expect(packed).toContain('bin/run.js')
    expect(packed).toContain('oclif.manifest.json')
    expect(packed).toContain('dist/cli/main.js')
    expect(packed).toContain('dist/index.d.ts')
    expect(packed.some(path => path.startsWith('examples/'))).toBe(true)
    expect(packed.filter(path => /^(src|test|scripts|sandbox|\.)/.test(path))).toEqual([])
  })

  test('runs the main job from the archives inside it', async () => {
    const bin = join(folder, 'node_modules/.bin/kdlq')
    expect((await run(bin, ['--version'], {cwd: folder, env})).stdout).toMatch(/^kdlq\/\d+\.\d+\.\d+/)
    const {stdout} = await run(bin, ['inspect', 'example:orders-dlq', '--json'], {
      cwd: folder,
      env,
      maxBuffer: 64 * 1024 * 1024,
    })
    const {result} = JSON.parse(stdout) as {result: {records: unknown[]; scanned: {records: number}[]}}
    expect(result.records.length).toBeGreaterThan(0)
    expect(result.scanned.reduce((sum, {records}) => sum + records, 0)).toBe(result.records.length)
  })

  test('gives a TypeScript project the library with its types, and loads no client and no command framework', async () => {
    await writeFile(
      join(folder, 'use.ts'),
      [
        "import {createDeadLetter, type DeadLetter} from 'kdlq'",
        "import {planReplay, type ReplayPlan} from 'kdlq/replay'",
        "import {parseErrorHandlingConfig, type Tolerance} from 'kdlq/connect'",
        "export const tolerance: Tolerance = parseErrorHandlingConfig({topics: 'orders'}, {kind: 'sink'}).tolerance",
        'export const make: (record: DeadLetter["record"]) => DeadLetter = createDeadLetter',
        'export const plan: (...input: Parameters<typeof planReplay>) => Promise<{plan: ReplayPlan}> = planReplay',
      ].join('\n'),
    )
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'es2024',
          strict: true,
          noEmit: true,
          types: ['node'],
          typeRoots: [join(root, 'node_modules/@types')],
        },
        files: ['use.ts'],
      }),
    )
    const compiled = await run('tsc', ['-p', '.'], {cwd: folder, env})
    expect(compiled.stdout).toBe('')
    // Both are CommonJS, so what was loaded of them stands in the module cache.
    const script = `import module from 'node:module'
      await import('kdlq')
      await import('kdlq/connect')
      console.log(Object.keys(module._cache).filter(path => /kafkajs|oclif/.test(path)).length)`
    const {stdout} = await run('node', ['--input-type=module', '-e', script], {cwd: folder, env})
    expect(stdout.trim()).toBe('0')
  })

  test('passes the checks for packages and their types', async () => {
    expect((await run('publint', ['--strict'], {cwd: root, env})).stdout).toContain('All good')
    // Exits 1 on a problem that the profile does not ignore.
    const types = await run('attw', ['--pack', '.', '--profile', 'esm-only', '--no-emoji', '--format', 'ascii'], {
      cwd: root,
      env,
    })
    // `kdlq`, `kdlq/replay` and `kdlq/connect`.
    expect(types.stdout.match(/node16 \(from ESM\): (?:OK )?\(ESM\)/g)).toHaveLength(3)
  }, 120_000)

  test.each(['22.22.2', '24.21.0'])(
    'runs on Node %s',
    async version => {
      const bin = join(folder, 'node_modules/kdlq/bin/run.js')
      const args = ['exec', '--yes', `--package=node@${version}`, '--', 'node', bin]
      const {stdout} = await run('npm', [...args, 'stats', 'example:orders-dlq', '--by', 'stage', '--json'], {
        cwd: folder,
        env,
        maxBuffer: 64 * 1024 * 1024,
      })
      expect((JSON.parse(stdout) as {result: {total: number}}).result.total).toBeGreaterThan(0)
    },
    180_000,
  )

  test('tells a too old Node in one sentence, exit code 2', async () => {
    const old = '20.19.0'
    const bin = join(folder, 'node_modules/kdlq/bin/run.js')
    const failure = await run(
      'npm',
      ['exec', '--yes', `--package=node@${old}`, '--', 'node', bin, 'inspect', 'example:orders-dlq'],
      {cwd: folder, env},
    ).then(
      () => null,
      (error: {code: number; stderr: string; stdout: string}) => error,
    )
    expect(failure?.code).toBe(2)
    expect(failure?.stderr).toContain(`kdlq needs Node 22.22 or newer; this is v${old}.`)
    expect(failure?.stdout).toBe('')
  }, 180_000)
})
