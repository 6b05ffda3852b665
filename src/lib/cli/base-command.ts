import {Command} from '@oclif/core/command'
import type {Interfaces} from '@oclif/core'
import type {Clock} from '../clock.ts'
import {RefusedError, UsageError} from '../errors.ts'
import {createPaint} from '../render/paint.ts'
import {sanitize} from '../render/sanitize.ts'
import type {RenderContext} from '../render/view.ts'
import {applyFlagDefaults} from './config/flag-defaults.ts'
import {effectiveSettings, loadConfiguration} from './config/load.ts'
import type {Configuration, EffectiveSettings} from './config/settings.ts'
import {type ErrorJson, errorJson, toKdlqError} from './error-report.ts'
import {commonFlags, connectionFlags, OUTPUT_FORMATS, type OutputFormat} from './flags.ts'
import {decorationOf, type Io} from './io.ts'
import {Progress} from './progress.ts'
import {confirmOrRefuse} from './prompts.ts'
import {runtimeOf, type Runtime} from './runtime.ts'

/**
 * What every command has: streams, clock, signal, settings, and ways to say things. `Result` is the JSON contract of
 * the command.
 */
export abstract class BaseCommand<Result> extends Command {
  static override baseFlags = commonFlags
  /** True for commands whose work goes on when nobody reads their output any more. */
  protected readonly writesToKafka: boolean = false

  #configuration: Promise<Configuration> | null = null
  readonly #warnings: string[] = []

  abstract override run(): Promise<Result>

  protected get runtime(): Runtime {
    return runtimeOf(this.config)
  }

  protected get io(): Io {
    return this.runtime.io
  }

  protected get clock(): Clock {
    return this.runtime.clock
  }

  /** Aborts at the first SIGINT or SIGTERM, and (reading commands) when the reader of stdout has gone. */
  protected get signal(): AbortSignal {
    return this.runtime.signals.signal
  }

  /** Id as a person types it, e.g. `config init`. */
  protected get commandName(): string {
    return (this.id ?? '').replaceAll(':', ' ')
  }

  /** Warnings so far, for the JSON envelope. */
  protected get warnings(): readonly string[] {
    return this.#warnings
  }

  protected override async init(): Promise<void> {
    await super.init()
    if (this.writesToKafka) {
      this.io.stdout.ignoreClosed()
      this.io.stderr.ignoreClosed()
    }
  }

  /** Everything is told in one place, src/main.ts. */
  protected override async catch(error: Error): Promise<never> {
    throw error
  }

  /** As oclif's, then defaults of the configuration for flags that neither the line nor the environment gave. */
  protected override async parse<
    F extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    B extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    A extends Interfaces.OutputArgs<Interfaces.ArgInput>,
  >(options?: Interfaces.Input<F, B, A>, argv?: string[]): Promise<Interfaces.ParserOutput<F, B, A>> {
    const parsed = await super.parse(options, argv)
    const {report} = this.runtime
    const flags: Record<string, unknown> = parsed.flags
    const definitions = {...this.ctor.baseFlags, ...this.ctor.flags}
    // Where --profile chooses one (config init names a new one), its settings hold for this command.
    const chooses = definitions['profile'] === connectionFlags.profile && typeof flags['profile'] === 'string'
    const settings = effectiveSettings(await this.configuration(), chooses ? String(flags['profile']) : null)
    await applyFlagDefaults(parsed, {definitions, defaults: settings.defaults ?? {}, context: this})
    refuseEmptyPaths(flags, definitions)
    report.json = outputFormat(flags) === 'json'
    report.quiet = flags['quiet'] === true
    report.verbose = flags['verbose'] === true
    report.noColor = flags['no-color'] === true
    return parsed
  }

  /** Both configuration files; read once. */
  protected async configuration(): Promise<Configuration> {
    const {io, home, cwd} = this.runtime
    this.#configuration ??= loadConfiguration({env: io.env, home, cwd})
    return this.#configuration
  }

  /** Settings of the profile in force. @param profile value of `--profile` */
  protected async settings(profile: string | undefined): Promise<EffectiveSettings> {
    return effectiveSettings(await this.configuration(), profile ?? null)
  }

  /** Facts for the renderers about stdout. @param options.fit false = cut nothing, also on a terminal */
  protected renderContext(options: {readonly fit: boolean} = {fit: true}): RenderContext {
    const {width, colour, unicode, isTTY} = decorationOf(this.io, 'stdout', this.runtime.report.noColor)
    return {
      width: options.fit ? width : null,
      unicode: unicode || !isTTY,
      paint: createPaint(colour),
      nowMs: this.clock.now(),
      forTerminal: isTTY,
    }
  }

  /** Data on stdout; waits for a slow reader. */
  protected async print(text: string | Uint8Array): Promise<void> {
    await this.io.stdout.write(text)
  }

  /** All chunks on stdout, in order. */
  protected async printAll(chunks: AsyncIterable<string> | Iterable<string>): Promise<void> {
    for await (const chunk of chunks) await this.io.stdout.write(chunk)
  }

  /** A line on stderr unless `--quiet`; control characters are made visible. */
  protected async say(line: string): Promise<void> {
    if (this.runtime.report.quiet) return
    await this.io.stdout.flush()
    await this.io.stderr.write(`${sanitize(line)}\n`)
  }

  /** As `say`, and kept for the JSON envelope. */
  protected async warnUser(text: string): Promise<void> {
    this.#warnings.push(text)
    const {colour} = decorationOf(this.io, 'stderr', this.runtime.report.noColor)
    if (this.runtime.report.quiet) return
    await this.io.stdout.flush()
    await this.io.stderr.write(`${createPaint(colour)('warn', 'warning:')} ${sanitize(text)}\n`)
  }

  /** The likely next command; only where a person watches. */
  protected async suggestNext(command: string): Promise<void> {
    if (!this.io.stdout.isTTY || !this.io.stderr.isTTY) return
    const {colour} = decorationOf(this.io, 'stderr', this.runtime.report.noColor)
    if (this.runtime.report.quiet) return
    await this.io.stdout.flush()
    await this.io.stderr.write(`${createPaint(colour)('faint', `next: ${sanitize(command)}`)}\n`)
  }

  /** An error as data for a JSON document that has begun; main then says nothing more about it. */
  protected tellInDocument(error: unknown): ErrorJson {
    this.runtime.report.told = true
    return errorJson(toKdlqError(error))
  }

  /** Exit code of a run that ends without an error but with a bad answer (3). */
  protected setExitCode(code: number): void {
    this.runtime.report.exitCode = code
  }

  /** A line on stderr that shows how far the work is; dispose it before saying something. */
  protected progress(): Progress {
    return new Progress(this.io.stderr, this.clock, {quiet: this.runtime.report.quiet})
  }

  /**
   * Asks unless `--yes`.
   * @throws RefusedError when the answer is no or nobody can answer; InterruptedError on Ctrl-C
   */
  protected async consent(question: string, yes: boolean): Promise<void> {
    if (!yes) await confirmOrRefuse(this.io, question, {signal: this.signal})
  }

  /** @throws RefusedError when the profile or a file says `readOnly: true` */
  protected assertWritable(settings: EffectiveSettings): void {
    if (settings.readOnly !== true) return
    const where = settings.profileName === null ? 'the configuration' : `profile ${settings.profileName}`
    throw new RefusedError(`${where} is read-only`, {
      code: 'E_READ_ONLY',
      hints: ['choose another profile with --profile'],
    })
  }
}

/** Format in force: `--json`, else `--output`, else table. */
export function outputFormat(flags: {readonly [name: string]: unknown}): OutputFormat {
  if (flags['json'] === true) return 'json'
  return OUTPUT_FORMATS.find(format => format === flags['output']) ?? 'table'
}

/** An empty path is an unset variable in a script, and would stand for the working directory. @throws UsageError */
function refuseEmptyPaths(flags: Readonly<Record<string, unknown>>, definitions: Interfaces.FlagInput): void {
  for (const [name, definition] of Object.entries(definitions)) {
    const kind = 'helpValue' in definition ? definition.helpValue : undefined
    if (flags[name] !== '' || typeof kind !== 'string' || !/FILE|DIR/.test(kind)) continue
    throw new UsageError(`--${name} is empty`, {hints: [`give it a ${kind}`], context: {flag: name}})
  }
}
