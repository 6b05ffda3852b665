/**
 * Fails when a committed generated file differs from a fresh run: oclif.manifest.json, docs/cli and the README picture.
 * Runs behind `npm run build`, which writes them. Outside a git checkout there is nothing to compare with.
 */
import {spawnSync} from 'node:child_process'
import {root} from './lib.ts'

const paths = ['oclif.manifest.json', 'docs/cli', 'docs/images']
const inside = spawnSync('git', ['rev-parse', '--is-inside-work-tree'], {cwd: root, encoding: 'utf8'})
if (inside.status === 0) {
  const {stdout} = spawnSync('git', ['status', '--porcelain', '--', ...paths], {cwd: root, encoding: 'utf8'})
  if (stdout.trim() === '') console.log(`up to date: ${paths.join(', ')}`)
  else {
    console.error(`these differ from what npm run build writes; commit them:\n${stdout}`)
    process.exitCode = 1
  }
}
