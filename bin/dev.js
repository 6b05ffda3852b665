#!/usr/bin/env node
// Runs the sources as they are: no build, no transpiler. `npm run dev -- ARGS`.
import {readFileSync} from 'node:fs'

const {main} = await import('../src/main.ts')
const pjson = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const oclif = {...pjson.oclif, commands: './src/commands', helpClass: './src/lib/cli/help.ts'}
await main({entry: import.meta.url, exit: code => process.exit(code), sources: {...pjson, oclif}})
