/**
 * Everything: `npm run check`'s steps, the build with its own checks, and all tests, the integration tests against real
 * Kafka included. The last lines are `unit N, cli N, integration N` and `N passed, N failed, N skipped`.
 */
import {runTool} from './lib.ts'

const steps: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['static checks', 'node', ['scripts/check.ts', 'types', 'lint', 'format', 'boundaries', 'unused']],
  ['build', 'node', ['scripts/build.ts']],
  ['generated files are up to date', 'node', ['scripts/generated.ts']],
  ['field cases', 'node', ['scripts/field-cases.ts', '--quiet']],
  ['tests', 'vitest', ['run', ...process.argv.slice(2)]],
]

for (const [name, command, args] of steps) {
  console.log(`== ${name}`)
  const {code} = await runTool(command, args)
  if (code !== 0) {
    console.error(`FAILED: ${name}`)
    process.exitCode = 1
    break
  }
}
