import type {Config} from '@oclif/core/interfaces'
import type {Clock} from '../clock.ts'
import {BugError} from '../errors.ts'
import type {Io} from './io.ts'
import type {Signals} from './signals.ts'

/** What the program hands to its commands; one per run. */
export interface Runtime {
  readonly io: Io
  readonly clock: Clock
  readonly signals: Signals
  /** Folder of package.json: `examples/` lies there. */
  readonly packageRoot: string
  readonly cwd: string
  readonly home: string
  readonly report: ReportState
}

/** What main has to know to tell about an error in the mode the user asked for. */
export interface ReportState {
  /** JSON envelope or text. */
  json: boolean
  quiet: boolean
  verbose: boolean
  noColor: boolean
  /** The error was already told inside an open JSON document. */
  told: boolean
  /** Exit code of a run that ended without an error, but with a bad answer. */
  exitCode: number
}

const runtimeKey: unique symbol = Symbol.for('kdlq.runtime')

interface Carrier {
  readonly [runtimeKey]: Runtime
}

/** Options for oclif's Config that carry the runtime: oclif copies them whenever it loads its configuration again. */
export function carryRuntime<T extends object>(options: T, runtime: Runtime): T & Carrier {
  return {...options, [runtimeKey]: runtime}
}

function isCarrier(options: unknown): options is Carrier {
  return typeof options === 'object' && options !== null && runtimeKey in options
}

/** Null when oclif's own tools (manifest, reference) load the commands. */
export function findRuntime(config: Config): Runtime | null {
  const options: unknown = 'options' in config ? config.options : undefined
  return isCarrier(options) ? options[runtimeKey] : null
}

/** @throws BugError when a command was started by something else than src/main.ts */
export function runtimeOf(config: Config): Runtime {
  const runtime = findRuntime(config)
  if (runtime === null) throw new BugError('a command was started without a runtime')
  return runtime
}
