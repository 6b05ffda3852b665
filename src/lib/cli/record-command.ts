import {readFile} from 'node:fs/promises'
import {createDeadLetter} from '../dead-letter/dead-letter.ts'
import type {DeadLetter, PartitionScan} from '../dead-letter/model.ts'
import {type Baseline, baselineEnds, parseBaseline, strangeness} from '../dead-letter/baseline.ts'
import {type FreezeDeps, freezeSelection} from '../dead-letter/freeze.ts'
import {compileRedaction} from '../dead-letter/redact.ts'
import {type DeadLetterScan, scanDeadLetters} from '../dead-letter/scan.ts'
import {isScanIncomplete, LIMIT_REASON} from '../dead-letter/scan-tally.ts'
import {withHeaderMappings} from '../dialects/families/custom.ts'
import {DIALECTS} from '../dialects/registry.ts'
import {EXIT, IoError, UsageError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import {formatCount, plural} from '../render/numbers.ts'
import {compileFilters} from '../select/compile.ts'
import {asksForPayload} from '../select/filter-spec.ts'
import type {FrozenSelection} from '../select/selection.ts'
import {type ArchiveSource, formatSource} from '../select/source.ts'
import {BaseCommand} from './base-command.ts'
import {asList, headerMappingsOf} from './config/settings.ts'
import {type ConnectionFlags, connectionConfig, readRateOf} from './connection.ts'
import {errorCode} from './guards.ts'
import type {LedgerLens} from './ledger-lens.ts'
import {joinClusters} from './joined-cluster.ts'
import type {DecodeFlags} from './decode-flags.ts'
import {openPayloads, type PayloadReader} from './payloads.ts'
import {type Request, type SelectionFlags, toRequest} from './select.ts'

/** Values of the flags that every command over records has. */
export type RecordFlags = ConnectionFlags &
  DecodeFlags &
  SelectionFlags & {readonly profile?: string | undefined} & Readonly<Record<string, unknown>>

export interface ScanExtras {
  /** Text of the progress line. */
  readonly label?: string
  /** What a ledger says about the records; null = none was read. */
  readonly ledger?: LedgerLens | null
  /** For records that are copied, not shown: nothing is hidden. Left out counts as false. */
  readonly asIs?: boolean
  /** Schemas of the records are asked for before they come; null = they are not decoded. */
  readonly payloads?: PayloadReader | null
}

/** Base of commands that read records of topics or archives. */
export abstract class RecordCommand<Result> extends BaseCommand<Result> {
  #badLines = 0
  #payloads: Promise<PayloadReader> | null = null
  #troubles: () => readonly string[] = () => []

  /** Sources and flags as a request; says which zone was taken for times without one. */
  protected async request(sources: readonly string[], flags: RecordFlags): Promise<Request> {
    const request = toRequest(sources, flags, {now: this.clock.now()})
    if (request.assumedZone !== null) await this.say(`times without a zone are read as ${request.assumedZone}`)
    return request
  }

  /** The cluster or archive of a request. Dispose it. @throws UnreachableError, AuthError, IoError, UsageError */
  protected async open(request: Pick<Request, 'archives' | 'skipBadLines'>, flags: RecordFlags): Promise<Cluster> {
    if (request.archives.length === 0) return this.connect(flags)
    const opened: Cluster[] = []
    try {
      for (const source of request.archives) opened.push(await this.#openArchive(source, request.skipBadLines))
      const [only] = opened
      return only !== undefined && opened.length === 1 ? only : await joinClusters(opened, {signal: this.signal})
    } catch (error) {
      for (const cluster of opened) await cluster.close()
      throw error
    }
  }

  /** The cluster that flags, environment and profile name. Dispose it. */
  protected async connect(flags: ConnectionFlags & {readonly profile?: string | undefined}): Promise<Cluster> {
    const settings = await this.settings(flags.profile)
    const config = await connectionConfig(flags, settings, {env: this.io.env, command: this.commandName})
    const {connectCluster} = await import('../kafka/client/index.ts')
    return connectCluster(config, {signal: this.signal, clock: this.clock, clientVersion: this.config.version})
  }

  async #openArchive(source: ArchiveSource, skipBadLines: boolean): Promise<Cluster> {
    const {openArchive} = await import('../kafka/archive/index.ts')
    const options = {
      skipBadLines,
      signal: this.signal,
      onBadLine: (): void => {
        this.#badLines += 1
      },
    }
    if (source.kind === 'stdin') return openArchive(this.io.stdin, {...options, name: '-'})
    if (source.kind === 'archive') return openArchive(source.path, {...options, name: source.path})
    const {resolveExample} = await import('../kafka/archive/index.ts')
    return openArchive(await resolveExample(this.runtime.packageRoot, source.name), {
      ...options,
      name: `example:${source.name}`,
    })
  }

  /** Positions become offsets, the end is where it is now. */
  protected async freeze(cluster: Cluster, request: Request): Promise<FrozenSelection> {
    const baselines: {readonly path: string; readonly baseline: Baseline}[] = []
    const readBaseline = async (path: string): ReturnType<FreezeDeps['readBaseline']> => {
      const baseline = await readBaselineFile(path)
      baselines.push({path, baseline})
      return baselineEnds(baseline)
    }
    const frozen = await freezeSelection(
      cluster,
      request.selection,
      {clock: this.clock, readBaseline},
      {signal: this.signal},
    )
    for (const {path, baseline} of baselines) {
      const strange = strangeness(baseline, {clusterId: cluster.description.clusterId, topics: frozen.ranges})
      if (strange === null) continue
      throw new UsageError(`the offsets of the baseline ${path} mean nothing here: ${strange}`, {
        hints: ['name another place to start from, for instance --from start'],
        context: {file: path},
      })
    }
    return frozen
  }

  /**
   * How keys and values are read in this run; nothing is asked before a record needs it.
   * @throws UsageError for a broken --decode, --schema-registry or schema file; ConfigError for a broken profile
   */
  protected async payloads(flags: RecordFlags): Promise<PayloadReader> {
    this.#payloads ??= this.settings(flags.profile).then(async settings =>
      openPayloads(flags, settings, {env: this.io.env, clock: this.clock, signal: this.signal}),
    )
    const payloads = await this.#payloads
    this.#troubles = () => payloads.troubles
    return payloads
  }

  /** The matching dead letters of a frozen selection, with progress on a terminal. */
  protected async scan(
    cluster: Cluster,
    frozen: FrozenSelection,
    flags: RecordFlags,
    {label = 'reading', ledger = null, asIs = false, payloads = null}: ScanExtras = {},
  ): Promise<DeadLetterScan> {
    const settings = await this.settings(flags.profile)
    const dialects = withHeaderMappings(headerMappingsOf(settings), DIALECTS)
    const create = ledger?.createDeadLetter ?? createDeadLetter
    const asked = asksForPayload(frozen.filters) ? await this.payloads(flags) : null
    const decode = asked === null ? null : (letter: DeadLetter) => asked.decode(letter)
    const compiled = await compileFilters(frozen.filters, {dialects, decode})
    const filters = ledger === null ? compiled : ledger.filter(compiled)
    const progress = this.progress()
    const scan = scanDeadLetters(cluster, frozen, filters, {
      signal: this.signal,
      readRate: readRateOf(flags, settings),
      createDeadLetter: record => create(record, dialects),
      prepare: asked === null ? undefined : record => asked.prepare({record}),
      onProgress: ({records, bytes}) => void progress.update({label, done: records, bytes}),
    })
    const redaction = asIs ? null : compileRedaction(asList(settings.redact))
    const show = (letter: DeadLetter): DeadLetter => redaction?.deadLetter(letter) ?? letter
    return {
      scanned: () => scan.scanned(),
      [Symbol.asyncIterator]: () => this.#watched(scan, frozen, progress, {show, payloads}),
    }
  }

  async *#watched(
    scan: DeadLetterScan,
    frozen: FrozenSelection,
    progress: AsyncDisposable,
    {show, payloads}: {readonly show: (letter: DeadLetter) => DeadLetter; readonly payloads: PayloadReader | null},
  ): AsyncGenerator<DeadLetter> {
    await using _ = progress
    const isByTime = frozen.ranges.some(({fromTimeMs, toTimeMs}) => fromTimeMs !== null || toTimeMs !== null)
    let warned = !isByTime
    for await (const deadLetter of scan) {
      if (!warned && DIALECTS.some(({id, keepsTimestamp}) => keepsTimestamp && id === deadLetter.failure.dialect)) {
        warned = true
        await this.warnUser(
          'these dead letters keep the time of their source record: the bounds are not the time of the failure',
        )
      }
      const waiting = payloads?.prepareWhole(deadLetter)
      if (waiting !== undefined) await waiting
      yield show(deadLetter)
    }
  }

  /** Says how many records matched, whether `--limit` left some unread, and what `checkScan` says. */
  protected async closeScan(scanned: readonly PartitionScan[], matched: number): Promise<void> {
    const records = scanned.reduce((sum, scan) => sum + scan.records, 0)
    const isCutShort = scanned.some(({reason}) => reason === LIMIT_REASON)
    await this.say(
      `${formatCount(matched)} of ${plural(records, 'record')} match${isCutShort ? '; stopped at --limit, before the end' : ''}`,
    )
    await this.checkScan(scanned)
  }

  /** Says what a scan could not read, and sets exit code 3 for it. */
  protected async checkScan(scanned: readonly PartitionScan[]): Promise<void> {
    for (const problem of this.#problems(scanned)) await this.warnUser(problem)
    if (scanned.some(isScanIncomplete) || this.#badLines > 0) this.setExitCode(EXIT.BAD_ANSWER)
  }

  /** Warnings for a JSON document whose scan has ended, before `checkScan` says them. */
  protected documentWarnings(scanned: readonly PartitionScan[]): readonly string[] {
    return [...this.warnings, ...this.#problems(scanned)]
  }

  #problems(scanned: readonly PartitionScan[]): readonly string[] {
    const whereErrors = scanned.reduce((sum, scan) => sum + (scan.whereErrors ?? 0), 0)
    const incomplete = scanned
      .filter(isScanIncomplete)
      .map(
        ({topic, partition, reason}) => `${topic}:${partition} was not read to its end: ${reason ?? 'unknown reason'}`,
      )
    return [
      ...(whereErrors > 0
        ? [
            `--where could not be evaluated on ${plural(whereErrors, 'record')}, which count as not matched: they lack a field, or hold another type in it`,
          ]
        : []),
      ...incomplete,
      ...this.#troubles(),
      ...(this.#badLines > 0 ? [`${plural(this.#badLines, 'broken line')} left out`] : []),
    ]
  }

  /** ` --archive FILE` for a next command on the same archive; empty for a cluster. */
  protected archiveHint({archives}: Request): string {
    const [source] = archives
    return source === undefined || source.kind === 'stdin' ? '' : ` --archive ${formatSource(source)}`
  }

  /** `example:` alone lists what ships in the package. @returns true when the list was printed */
  protected async printedExamples(request: Request): Promise<boolean> {
    if (!request.archives.some(source => source.kind === 'example' && source.name === '')) return false
    const {listExamples} = await import('../kafka/archive/index.ts')
    for (const {name} of await listExamples(this.runtime.packageRoot)) await this.print(`example:${name}\n`)
    return true
  }
}

/** @throws UsageError when it is no baseline, IoError when it cannot be read */
export async function readBaselineFile(path: string): Promise<Baseline> {
  try {
    return parseBaseline(await readFile(path, 'utf8'), path)
  } catch (error) {
    if (errorCode(error) === null || !(error instanceof Error) || 'exitCode' in error) throw error
    throw new IoError(`the baseline ${path} cannot be read`, {cause: error, context: {path}})
  }
}
