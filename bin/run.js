#!/usr/bin/env node
// Plain syntax that old versions of Node can parse: they have to get as far as the sentence below.
import module from 'node:module'
import {readFileSync} from 'node:fs'
import {homedir} from 'node:os'
import {join} from 'node:path'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 22)) {
  console.error(`kdlq needs Node 22.22 or newer; this is ${process.version}.`)
  process.exitCode = 2
} else if (process.argv.length === 3 && process.argv[2] === '--version') {
  // Answered before oclif is loaded: it would take three times as long.
  const {version} = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  console.log(`kdlq/${version} ${process.platform}-${process.arch} node-${process.version}`)
} else {
  // A folder of our own: in the shared temporary folder somebody else could have placed files first.
  module.enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kdlq', 'compile'))
  const {main} = await import('../dist/cli/main.js')
  await main({entry: import.meta.url, exit: code => process.exit(code)})
}
