/** `npm run demo`: build, then do the main job on archives that ship with the package. Needs no services. */
import {spawnSync} from 'node:child_process'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {root, runTool, toolEnv} from './lib.ts'

const folder = await mkdtemp(join(tmpdir(), 'kdlq-demo-'))
const replayed = join(folder, 'replayed')

const steps: readonly (readonly [why: string, args: readonly string[]])[] = [
  ['What is in the dead letter topic, and why did each record die?', ['inspect', 'example:orders-dlq', '--limit', '8']],
  ['Which failures are these, and how many of each?', ['stats', 'example:orders-dlq', '--by', 'stage,cause']],
  ['One dead letter in full.', ['show', 'example:orders-dlq', '--stage', 'VALUE_CONVERTER']],
  [
    'What would go back, and where to? A dry run writes nothing.',
    ['replay', 'example:orders-dlq', '--stage', 'VALUE_CONVERTER', '--to-archive', replayed, '--dry-run'],
  ],
  [
    'Put them back: to the original topic and partition, here into an archive instead of a cluster.',
    ['replay', 'example:orders-dlq', '--stage', 'VALUE_CONVERTER', '--to-archive', replayed, '--yes'],
  ],
  ['The records as the sink would read them again.', ['inspect', `${replayed}/`, '--limit', '5']],
]

try {
  console.log('Building ...')
  const build = await runTool('node', ['scripts/build.ts'], {quiet: true})
  if (build.code !== 0) throw new Error(`the build failed:\n${build.output}`)
  for (const [why, args] of steps) {
    console.log(`\n# ${why}\n$ kdlq ${args.map(arg => arg.replace(folder, '/tmp/demo')).join(' ')}`)
    const {status} = spawnSync('node', [join(root, 'bin/run.js'), ...args], {cwd: root, env: toolEnv, stdio: 'inherit'})
    if (status !== 0) throw new Error(`kdlq ended with exit code ${String(status)}`)
  }
  console.log(
    '\nThat was the whole way on an archive. For a real broker: npm run sandbox, or README.md, "Five minutes".',
  )
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await rm(folder, {recursive: true, force: true})
}
