/** Runs cases from stdin (JSON) in this process and prints their results: one start of Node for all of them. */
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import {text} from 'node:stream/consumers'
import type {Interfaces} from '@oclif/core'
import type {Output} from '../../../src/lib/cli/output.ts'
import {runProgram} from '../../../src/main.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {type Case, type CaseResult, NOW} from './cases.ts'

class MemoryOutput implements Output {
  text = ''
  readonly width: number | null

  constructor(width: number | null) {
    this.width = width
  }

  get isTTY(): boolean {
    return this.width !== null
  }

  async write(chunk: string | Uint8Array): Promise<void> {
    this.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('latin1')
  }

  async flush(): Promise<void> {}
  onClosed(): void {}
  ignoreClosed(): void {}
}

const packageRoot = join(import.meta.dirname, '../../..')
const pjson = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as Interfaces.PJSON
const sources = {...pjson, version: '0.0.0', oclif: {...pjson.oclif, commands: './src/commands', helpClass: './src/lib/cli/help.ts'}}
// Nothing is there: no configuration of this machine can be seen.
const home = '/home/ada'

async function runCase({argv, columns, env, stdin}: Case): Promise<CaseResult> {
  const stdout = new MemoryOutput(columns)
  const stderr = new MemoryOutput(columns)
  const controller = new AbortController()
  for (const name of Object.keys(process.env)) if (name.startsWith('KDLQ_')) delete process.env[name]
  const code = await runProgram({
    argv,
    io: {stdin: Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]), stdout, stderr, env},
    signals: {signal: controller.signal, abort: reason => controller.abort(reason), [Symbol.dispose]: () => undefined},
    clock: new FakeClock({now: NOW}),
    packageRoot,
    cwd: home,
    home,
    sources,
  })
  return {stdout: stdout.text, stderr: stderr.text, code}
}

const results: CaseResult[] = []
for (const one of JSON.parse(await text(process.stdin)) as Case[]) results.push(await runCase(one))
process.stdout.write(JSON.stringify(results))
