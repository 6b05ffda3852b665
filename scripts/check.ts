/**
 * The inner loop: types, lint, format, boundaries, unused code, unit, property and golden tests. The goal is 30 seconds, so
 * properties have a fifth of their runs here; `npm test` has all of them.
 */
import {runTool, type StepResult} from './lib.ts'

const steps: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['types', 'tsc', ['--noEmit', '-p', 'tsconfig.json']],
  ['lint', 'oxlint', ['--deny-warnings']],
  [
    'format',
    'prettier',
    // Files that were fine once are known by their content: a second instead of ten.
    [
      '--check',
      '--log-level',
      'warn',
      '--cache',
      '--cache-strategy',
      'content',
      '--cache-location',
      '.cache/prettier',
      '.',
    ],
  ],
  ['boundaries', 'node', ['scripts/boundaries.ts']],
  ['unused', 'knip', ['--no-progress']],
  ['tests', 'vitest', ['run', '--project', 'unit']],
]

const only = process.argv.slice(2)
const chosen = only.length === 0 ? steps : steps.filter(([name]) => only.includes(name))
if (chosen.length === 0) {
  console.error(`no such step; known: ${steps.map(([name]) => name).join(', ')}`)
  process.exit(2)
}

// The small tools share the two cores with the tests: fast ones first in parallel, then the tests alone.
const quick = chosen.filter(([name]) => name !== 'tests')
const results = await Promise.all(
  quick.map(async step => report(step[0], await runTool(step[1], step[2], {quiet: true}))),
)
for (const [name, command, args] of chosen.filter(([step]) => step === 'tests')) {
  results.push(report(name, await runTool(command, args, {quiet: true, env: {KDLQ_TEST_RUNS: 'few'}})))
}
process.exitCode = results.every(Boolean) ? 0 : 1

function report(name: string, {code, output, seconds}: StepResult): boolean {
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name.padEnd(10)} ${seconds.toFixed(1)} s`)
  if (code !== 0) console.log(output)
  else if (name === 'tests') console.log(output.trimEnd().split('\n').at(-1))
  return code === 0
}
