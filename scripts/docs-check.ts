/**
 * `npm run docs:check`: run the shell blocks of README.md and docs/ that are marked `run` and compare what they print.
 *
 *     ```sh run            needs nothing: examples only
 *     ```sh run sandbox    needs the sandbox; started here if it does not run, and then stopped again
 *
 * A `text` block right behind holds the expected standard output; without one, only the exit code 0 is asked for.
 * `exit=N` behind `run` expects another exit code. In an expected block `…` stands for any text within a line, a line
 * `...` for any number of lines. `npm run docs:check -- --no-sandbox` leaves the second kind out and says how many.
 */
import {spawnSync} from 'node:child_process'
import {chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {delimiter, join} from 'node:path'
import {root, runTool, toolEnv} from './lib.ts'

interface Block {
  readonly file: string
  readonly line: number
  readonly script: string
  readonly sandbox: boolean
  readonly exitCode: number
  readonly expected: string | null
}

/** Shell blocks marked `run`, in the order of the text. */
export function findBlocks(file: string, text: string): Block[] {
  const lines = text.split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at++) {
    const fence = /^```sh run\b(.*)$/.exec(lines[at] ?? '')
    if (fence === null) continue
    const end = lines.indexOf('```', at + 1)
    let next = end + 1
    while (lines[next] === '') next++
    const hasExpected = lines[next] === '```text'
    const expectedEnd = hasExpected ? lines.indexOf('```', next + 1) : -1
    blocks.push({
      file,
      line: at + 1,
      script: lines.slice(at + 1, end).join('\n'),
      sandbox: /\bsandbox\b/.test(fence[1] ?? ''),
      exitCode: Number(/\bexit=(\d+)/.exec(fence[1] ?? '')?.[1] ?? '0'),
      expected: hasExpected ? lines.slice(next + 1, expectedEnd).join('\n') : null,
    })
    at = end
  }
  return blocks
}

/** True when `actual` is what the documented output says; trailing blanks of a line do not count. */
export function matchesOutput(expected: string, actual: string): boolean {
  const trim = (text: string): string[] =>
    text
      .trimEnd()
      .split('\n')
      .map(line => line.trimEnd())
  const pattern = trim(expected)
    .map(line =>
      line === '...'
        ? '(?:.*\\n)*?'
        : `${line
            .split('…')
            .map(part => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'))
            .join('.*')}\\n`,
    )
    .join('')
  return new RegExp(`^${pattern}$`).test(`${trim(actual).join('\n')}\n`)
}

async function main(): Promise<void> {
  const files = [
    'README.md',
    ...(await readdir(join(root, 'docs'), {recursive: true}))
      .filter(name => name.endsWith('.md'))
      .map(name => `docs/${name}`),
  ]
  const blocks: Block[] = []
  for (const file of files) blocks.push(...findBlocks(file, await readFile(join(root, file), 'utf8')))
  const withSandbox = !process.argv.includes('--no-sandbox')
  const chosen = blocks.filter(block => withSandbox || !block.sandbox)

  const folder = await mkdtemp(join(tmpdir(), 'kdlq-docs-'))
  let stopSandbox = false
  try {
    await mkdir(join(folder, 'bin'))
    await writeFile(join(folder, 'bin', 'kdlq'), `#!/bin/sh\nexec node "${join(root, 'bin', 'run.js')}" "$@"\n`)
    await chmod(join(folder, 'bin', 'kdlq'), 0o755)
    const env: NodeJS.ProcessEnv = {
      ...toolEnv,
      PATH: [join(folder, 'bin'), toolEnv['PATH']].join(delimiter),
      XDG_CONFIG_HOME: join(folder, 'config'),
      XDG_STATE_HOME: join(folder, 'state'),
      NO_COLOR: '1',
      TZ: 'UTC',
    }
    if (chosen.some(block => block.sandbox)) {
      stopSandbox = await startSandbox()
      env['KDLQ_BOOTSTRAP_SERVER'] = await sandboxAddress()
    }
    let failed = 0
    for (const block of chosen) {
      const {status, stdout, stderr} = spawnSync('bash', ['-eu', '-o', 'pipefail', '-c', block.script], {
        cwd: folder,
        env,
        encoding: 'utf8',
      })
      const ok = status === block.exitCode && (block.expected === null || matchesOutput(block.expected, stdout))
      if (ok) continue
      failed += 1
      console.error(
        `${block.file}:${block.line}  exit ${String(status)}, expected ${block.exitCode}\n${block.script}\n--- printed\n${stdout}--- stderr\n${stderr}--- documented\n${block.expected ?? '(anything)'}\n`,
      )
    }
    const left = blocks.length - chosen.length
    console.log(
      `${chosen.length - failed} of ${chosen.length} documented commands print what the text says${left > 0 ? `; ${left} need the sandbox and were left out` : ''}`,
    )
    if (failed > 0 || chosen.length === 0) process.exitCode = 1
  } finally {
    if (stopSandbox) await runTool('node', ['sandbox/main.ts', 'stop'], {quiet: true})
    await rm(folder, {recursive: true, force: true})
  }
}

/** @returns true when it was started here and has to be stopped again */
async function startSandbox(): Promise<boolean> {
  const status = await runTool('node', ['sandbox/main.ts', 'status'], {quiet: true})
  if (status.code === 0) return false
  const {code, output} = await runTool('node', ['sandbox/main.ts'], {quiet: true})
  if (code !== 0) throw new Error(`the sandbox did not start:\n${output}`)
  return true
}

async function sandboxAddress(): Promise<string> {
  const state = JSON.parse(await readFile(join(root, '.cache/sandbox/state.json'), 'utf8')) as {
    bootstrapServers: string
  }
  return state.bootstrapServers
}

if (import.meta.main) await main()
