import {spawn} from 'node:child_process'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'

/** Folder of package.json. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** Environment whose PATH finds the project's own node and tools first. */
export const toolEnv: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [join(root, 'node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter),
}

export interface StepResult {
  readonly code: number
  readonly output: string
  readonly seconds: number
}

/**
 * Run one tool to its end.
 * @param options.quiet collect the output instead of passing it on; `stdoutOnly` leaves stderr out of it
 * @throws Error when the tool cannot be started
 */
export async function runTool(
  command: string,
  args: readonly string[],
  options: {quiet?: boolean; stdoutOnly?: boolean; env?: NodeJS.ProcessEnv; cwd?: string} = {},
): Promise<StepResult> {
  const started = performance.now()
  const {promise, resolve, reject} = Promise.withResolvers<StepResult>()
  const child = spawn(command, args, {
    cwd: options.cwd ?? root,
    env: {...toolEnv, ...options.env},
    stdio: options.quiet === true ? ['ignore', 'pipe', 'pipe'] : 'inherit',
  })
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout?.on('data', collect)
  if (options.stdoutOnly !== true) child.stderr?.on('data', collect)
  else child.stderr?.resume()
  child.on('error', reject)
  child.on('close', code => {
    resolve({code: code ?? 1, output, seconds: (performance.now() - started) / 1000})
  })
  return promise
}
