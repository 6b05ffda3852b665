// Entry of `npm run demo` and `npm test` on a fresh machine. Runs on Node 20: it installs what package-lock.json names
// when that is missing or older than the lock file, then starts the real script with the project's own Node.
// `node` is found by name, because npm puts node_modules/.bin first in PATH; process.execPath would stay the old one.
import {spawnSync} from 'node:child_process'
import {existsSync, statSync} from 'node:fs'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const script = {test: 'scripts/test.ts', demo: 'scripts/demo.ts'}[process.argv[2] ?? '']
if (script === undefined) {
  console.error('usage: node scripts/bootstrap.mjs test|demo')
  process.exit(2)
}

const installed = join(root, 'node_modules', '.package-lock.json')
const lock = join(root, 'package-lock.json')
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  console.error('Installing dependencies (npm ci) ...')
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel', 'error'])
}
run('node', [script, ...process.argv.slice(3)])

function run(command, args) {
  const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  const {status, error} = spawnSync(command, args, {cwd: root, stdio: 'inherit', env: {...process.env, PATH: path}})
  if (error !== undefined) {
    console.error(`cannot start ${command}: ${error.message}`)
    process.exit(1)
  }
  if (status !== 0) process.exit(status ?? 1)
}
