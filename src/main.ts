import {homedir} from 'node:os'
import {dirname} from 'node:path'
import {fileURLToPath} from 'node:url'
import type {Interfaces} from '@oclif/core'
import {Config} from '@oclif/core/config'
import {run} from '@oclif/core/run'
import {settings} from '@oclif/core/settings'
import {Chalk} from 'chalk'
import type {Clock} from './lib/clock.ts'
import {systemClock} from './lib/clock.ts'
import {EXIT} from './lib/errors.ts'
import {colourLevel} from './lib/cli/colour.ts'
import {commandOf} from './lib/cli/command-line.ts'
import {errorJson, errorText, toKdlqError} from './lib/cli/error-report.ts'
import type {Io} from './lib/cli/io.ts'
import {processIo} from './lib/cli/io.ts'
import {outputModeOf} from './lib/cli/output-mode.ts'
import {OutputClosedError, OutputFailedError} from './lib/cli/output.ts'
import type {Runtime} from './lib/cli/runtime.ts'
import {carryRuntime} from './lib/cli/runtime.ts'
import type {Signals} from './lib/cli/signals.ts'
import {watchSignals} from './lib/cli/signals.ts'
import {isOclifError, toUsageError, unframeFlagError} from './lib/cli/usage-errors.ts'
import {envelope} from './lib/render/json.ts'

export interface MainOptions {
  /** `import.meta.url` of the file in bin/. */
  readonly entry: string
  /** Ends the process at once; called for a second signal and when a run does not settle. */
  readonly exit: (code: number) => void
  /** Run the sources: a package.json whose `oclif` member points at them. */
  readonly sources?: Interfaces.PJSON
}

/** Runs the program on this process: sets its exit code, flushes its streams, and returns. */
export async function main({entry, exit, sources}: MainOptions): Promise<void> {
  const io = processIo()
  using signals = watchSignals({
    source: process,
    exit,
    say: line => {
      process.stderr.write(`${line}\n`)
    },
  })
  const packageRoot = dirname(dirname(fileURLToPath(entry)))
  process.exitCode = await runProgram({
    argv: process.argv.slice(2),
    io,
    signals,
    packageRoot,
    sources,
    clock: systemClock,
    cwd: process.cwd(),
    home: homedir(),
  })
  if (!process.stdin.destroyed && process.stdin.readableFlowing !== null) process.stdin.destroy()
}

export interface ProgramInput {
  readonly argv: readonly string[]
  readonly io: Io
  readonly signals: Signals
  readonly clock: Clock
  readonly packageRoot: string
  readonly cwd: string
  readonly home: string
  readonly sources?: Interfaces.PJSON | undefined
}

/** Runs one command line with the streams, clock and signals given. @returns the exit code; never throws */
export async function runProgram({
  argv,
  io,
  signals,
  clock,
  packageRoot,
  cwd,
  home,
  sources,
}: ProgramInput): Promise<number> {
  const mode = outputModeOf(argv, io.env)
  const report = {
    json: mode.json,
    quiet: mode.quiet,
    verbose: mode.verbose,
    noColor: mode.noColor,
    told: false,
    exitCode: EXIT.OK as number,
  }
  const runtime: Runtime = {io, clock, signals, packageRoot, cwd, home, report}
  io.stdout.onClosed(() => signals.abort(new OutputClosedError()))
  let command = ''
  try {
    const config = await loadConfig(runtime, sources)
    if (argv.length === 1 && argv[0] === '--version') {
      await io.stdout.write(`${config.userAgent}\n`)
      await io.stdout.flush()
      return EXIT.OK
    }
    command = commandOf(argv, config)
    await run([...argv], config)
    await io.stdout.flush()
    await io.stderr.flush().catch(ignoreClosedStderr)
    return report.exitCode
  } catch (thrown) {
    return await tell(thrown, {runtime, argv, command})
  }
}

async function loadConfig(runtime: Runtime, sources: Interfaces.PJSON | undefined): Promise<Config> {
  const options = carryRuntime({root: runtime.packageRoot}, runtime)
  if (sources === undefined) return Config.load(options)
  // oclif would look for TypeScript's old compiler API; Node runs the sources by itself.
  settings.enableAutoTranspile = false
  return Config.load({...options, pjson: sources, ignoreManifest: true})
}

interface Told {
  readonly runtime: Runtime
  readonly argv: readonly string[]
  readonly command: string
}

/** The one place where an error becomes text or JSON and an exit code. */
async function tell(thrown: unknown, {runtime, argv, command}: Told): Promise<number> {
  const {io, report, signals} = runtime
  if (thrown instanceof OutputClosedError || signals.signal.reason instanceof OutputClosedError) return report.exitCode
  // oclif ends its own help with an "exit" error of code 0.
  if (isOclifError(thrown) && thrown.oclif?.exit === 0) return EXIT.OK
  const unframed = thrown instanceof Error ? unframeFlagError(thrown, io.env, argv) : thrown
  const error = toKdlqError(
    isOclifError(unframed) && !('exitCode' in unframed) ? toUsageError(unframed, command) : unframed,
  )
  try {
    if (report.json && !report.told)
      await io.stdout.write(envelope(command, {error: errorJson(error)}, io.stdout.isTTY))
    await io.stdout.flush()
    if (!report.json) {
      const colour = new Chalk({level: colourLevel({isTTY: io.stderr.isTTY, noColorFlag: report.noColor, env: io.env})})
      const paint = (kind: 'error' | 'hint', text: string): string =>
        kind === 'error' ? colour.red.bold(text) : colour.cyan(text)
      await io.stderr.write(errorText(error, {verbose: report.verbose, paint}))
    }
    await io.stderr.flush()
  } catch (closed) {
    // Nobody is left to read the message; the exit code still tells.
    if (closed instanceof OutputClosedError) return error.exitCode
    if (!(closed instanceof OutputFailedError)) throw closed
    await io.stderr.write(errorText(closed, {verbose: report.verbose}))
    await io.stderr.flush()
    return closed.exitCode
  }
  return error.exitCode
}

function ignoreClosedStderr(error: unknown): void {
  if (!(error instanceof OutputClosedError)) throw error
}
