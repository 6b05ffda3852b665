import {userInfo} from 'node:os'
import {EXIT, isKdlqError, UsageError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {MetricsSnapshot} from '../connect-engine/metrics.ts'
import type {Cluster} from '../kafka/ports.ts'
import {envelope} from '../render/json.ts'
import {plural} from '../render/numbers.ts'
import {errorsSummary, replaySummary} from '../render/replay-plan.ts'
import {formatDuration} from '../render/time.ts'
import {TRANSACTION_TIMEOUT_MS, type OpenDelivery} from '../replay/delivery.ts'
import {ledgerPath, openFileDelivery} from '../replay/file-delivery.ts'
import {openLedgerCopy} from '../replay/ledger-copy.ts'
import {claimedError, takeOver} from '../replay/ledger/claims.ts'
import {readFileLedger} from '../replay/ledger/file-ledger.ts'
import type {LedgerAuthor} from '../replay/ledger/writer.ts'
import type {LedgerTopic} from '../replay/ledger/types.ts'
import {lookAtLedger, type LedgerLook, type LedgerLookInput} from '../replay/look-at-ledger.ts'
import type {DecodeRule, ReplayPlan} from '../replay/plan.ts'
import type {ReplayOutcome, ReplayResult} from '../replay/result.ts'
import {runReplay} from '../replay/run-replay.ts'
import {openTopicDelivery} from '../replay/topic-delivery.ts'
import type {Decoders} from '../serde/index.ts'
import {outputFormat} from './base-command.ts'
import type {EffectiveSettings} from './config/settings.ts'
import {connectionConfig, readRateOf} from './connection.ts'
import {confirmOrRefuse} from './prompts.ts'
import {DELIVERY_TIMEOUT_MS, LedgerCommand} from './ledger-command.ts'
import {type ErrorLog, fileLog, stderrLog} from './error-log.ts'
import type {Progress} from './progress.ts'
import type {ErrorFlags} from './replay-error-flags.ts'
import {forgetLocalRun, type LocalRun, noteLocalRun} from './local-runs.ts'
import {processLock} from './process-lock.ts'
import type {RecordFlags} from './record-command.ts'
import {type LimitFlags, toMaxFailed} from './run-limits.ts'
import {openReplayDecoders} from './replay-decoders.ts'
import {failureLines, isBadAnswer, nextCommand, type OpenLedger, resumeCommand} from './replay-report.ts'
import {archiveTarget} from './replay-target.ts'

/** Flags that name another target than the source. */
export interface TargetFlags {
  readonly 'to-archive'?: string | undefined
  readonly 'target-bootstrap-server'?: string | undefined
  readonly 'target-command-config'?: string | undefined
  readonly 'target-profile'?: string | undefined
}

/** One run that is about to be executed. */
export interface Execution {
  readonly source: Cluster
  readonly target: Cluster
  readonly plan: ReplayPlan
  readonly author: LedgerAuthor
  readonly ledger: OpenLedger
  readonly resume: boolean
  readonly reason: string | null
  readonly resendUnknown: boolean
  /** What earlier processes of the run counted; left out = nothing. */
  readonly earlierMetrics?: MetricsSnapshot | undefined
  /** For a plan that decodes; null for others. */
  readonly decoders: Decoders | null
  /** Another run to end first; null = none. */
  readonly takeOver: string | null
}

/** Flags that say how the ledger is looked at. */
export interface LookFlags {
  readonly 'take-over'?: string | undefined
  readonly 'to-archive'?: string | undefined
}

/** Base of the commands that write a plan: replay and resume. */
export abstract class ReplayCommand extends LedgerCommand<ReplayResult> {
  protected override readonly writesToKafka = true
  readonly #troubles = new Set<string>()

  /** Who is noted as operator: the login name; null = the system does not tell. */
  protected operator(): string | null {
    try {
      return userInfo().username
    } catch {
      return null
    }
  }

  /** The target of the flags, and what of it has to be closed. */
  protected async openTarget(
    source: Cluster,
    flags: RecordFlags & TargetFlags,
    settings: EffectiveSettings,
  ): Promise<{readonly cluster: Cluster; readonly own: Cluster | null}> {
    const own = await this.#ownTarget(source, flags, settings)
    return {cluster: own ?? source, own}
  }

  /** What reads keys and values for a plan, with the registry of the flags, else of the profile; null = it decodes nothing. */
  protected async decoders(
    decode: (DecodeRule & {readonly registry?: boolean}) | undefined,
    flags: RecordFlags,
  ): Promise<Decoders | null> {
    if (decode === undefined) return null
    const deps = {env: this.io.env, clock: this.clock, signal: this.signal}
    return openReplayDecoders(decode, flags, await this.settings(flags.profile), deps)
  }

  /** Problems of the registry as a whole, each once. */
  protected async warnOfRegistry(decoders: Decoders | null): Promise<void> {
    for (const {message} of decoders?.troubles ?? []) {
      if (this.#troubles.has(message)) continue
      this.#troubles.add(message)
      await this.warnUser(message)
    }
  }

  /**
   * Make sure that there is a ledger, or that one may be made; writes nothing.
   * @throws RefusedError when there is none and nobody says that it may be made
   */
  protected async checkLedger(target: Cluster, ledger: ReplayPlan['ledger'], create: boolean): Promise<void> {
    if (create || ledger.kind === 'none' || ledger.kind === 'archive') return
    try {
      if (ledger.kind === 'topic') await this.ledgerTopic(target, ledger.name, false)
      else await readFileLedger(ledger.path, {entries: false})
    } catch (error) {
      const canAsk = this.io.stdin.isTTY === true && this.io.stderr.isTTY
      if (!isKdlqError(error) || error.code !== 'E_NO_LEDGER' || !canAsk) throw error
      const place = ledger.kind === 'topic' ? `${ledger.name} on ${target.description.name}` : ledger.path
      const question = `There is no ledger ${place}. May it be created?`
      await confirmOrRefuse(this.io, question, {signal: this.signal, insteadUse: '--create-ledger'})
    }
  }

  /** The ledger of a plan for a new run; a topic is made when it is missing. */
  protected async openLedger(
    target: Cluster,
    ledger: ReplayPlan['ledger'],
    flags: Pick<TargetFlags, 'to-archive'>,
  ): Promise<OpenLedger> {
    if (ledger.kind === 'topic') return {kind: 'topic', topic: await this.ledgerTopic(target, ledger.name, true)}
    if (ledger.kind !== 'archive') return ledger
    const path = flags['to-archive']
    if (path !== undefined) return {kind: 'archive', path}
    throw new UsageError('the plan writes into an archive and keeps its ledger there', {
      hints: ['name the archive with --to-archive DIR'],
    })
  }

  /**
   * What the ledger of a plan says; null for a plan whose ledger is no topic. Writes nothing.
   * @throws RefusedError `E_LEDGER_MISSING` when this machine wrote to a ledger topic that is not there
   */
  protected async look(
    {source, target}: {readonly source: Cluster; readonly target: Cluster},
    ledger: ReplayPlan['ledger'],
    ranges: LedgerLookInput['ranges'],
    flags: LookFlags,
  ): Promise<LedgerLook | null> {
    const place = this.#placeOf(ledger, flags)
    if (place === null) return null
    const look = await lookAtLedger(
      {source, target, clock: this.clock},
      {
        ledger: place,
        isNewNormal: ledger.kind === 'archive',
        ranges,
        takeOver: flags['take-over'] ?? null,
        ...this.ledgerReads,
        signal: this.signal,
      },
    )
    if (look.ledger === null && place.kind === 'topic') await this.refuseIfMissed(target, place.name)
    return look
  }

  /** Execute a run and tell how it went. @param before the result when it does not even begin */
  protected async execute(
    execution: Execution,
    flags: RecordFlags & LimitFlags & ErrorFlags,
    before: () => ReplayResult,
  ): Promise<ReplayResult> {
    const {plan, author, source, target} = execution
    let outcome: ReplayOutcome
    try {
      await using progress = this.progress()
      using log = this.#errorLog(plan, flags, progress)
      const started = this.clock.monotonic()
      outcome = await runReplay(
        {
          source,
          target,
          clock: this.clock,
          decoders: execution.decoders,
          openDelivery: this.#delivery(execution),
          onErrorLogged: log?.sink,
          onProgress: ({done, total, replayed, parked}) => {
            const left = ((this.clock.monotonic() - started) / done) * (total - done)
            void progress.update({label: `replaying, ${formatDuration(left)} left`, done, total})
            if (flags['verbose'] === true) void this.say(`${author.run}: ${replayed + parked} committed of ${total}`)
          },
        },
        {
          run: author.run,
          plan,
          maxFailed: toMaxFailed(flags, plan.counts.toReplay),
          maxDurationMs: flags['max-duration'] ?? null,
          deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
          readRate: readRateOf(flags, await this.settings(flags.profile)),
          resendUnknown: execution.resendUnknown,
          earlierMetrics: execution.earlierMetrics,
        },
        {signal: this.signal},
      )
    } catch (error) {
      await this.document(flags, before(), error)
      throw error
    }
    return this.#finish(outcome, execution, flags)
  }

  /** The one JSON document, with the error that ends the run; nothing in the other formats. */
  protected async document(flags: RecordFlags, result: ReplayResult, error: unknown): Promise<void> {
    if (!isJson(flags)) return
    const body = error === null ? {result} : {result, error: this.tellInDocument(error)}
    await this.print(envelope(this.commandName, {...body, warnings: this.warnings}, this.io.stdout.isTTY))
  }

  /** Null = failures are not logged. @throws IoError when the file cannot be opened */
  #errorLog(plan: ReplayPlan, {'errors-log-file': path}: ErrorFlags, progress: Progress): ErrorLog | null {
    if (!plan.errors.log) return null
    const now = (): number => this.clock.now()
    if (path === undefined) return stderrLog(this.io.stderr, progress, now)
    return fileLog(path, text => void this.warnUser(text), now)
  }

  #delivery(execution: Execution): OpenDelivery | undefined {
    const {ledger, target, plan, author, resume, reason, takeOver: other} = execution
    if (ledger.kind === 'none') return undefined
    const input = {
      author,
      plan,
      reason,
      version: this.config.version,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      resume,
    }
    return async options => {
      if (ledger.kind === 'topic' && other !== null) await this.#takeOver(execution, ledger.topic, other)
      const how = `when it is interrupted: ${resumeCommand(author.run, ledger)}`
      await this.say(`${author.run} ${resume ? 'goes on' : 'begins'}; ${how}`)
      if (ledger.kind !== 'topic') {
        const deps = {target, clock: this.clock, lock: processLock()}
        return openFileDelivery(deps, {...input, ledger, takeOver: other}, options)
      }
      const onLost = (error: KdlqError): void =>
        void this.say(`${author.run}: ${error.message}; looking into the ledger`)
      const onFailed = (error: KdlqError): void =>
        void this.warnUser(`the ledger of the source cluster misses entries of this run: ${error.message}`)
      const {source} = execution
      const copy = await openLedgerCopy({source, target, clock: this.clock, onFailed}, ledger.topic.name, author, {
        ...options,
        deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      })
      const onNote = (text: string): void => void this.warnUser(text)
      const deps = {target, clock: this.clock, ledger: ledger.topic, onLost, onNote, copy}
      const noted = await this.#note(execution, ledger.topic)
      try {
        return await openTopicDelivery(deps, input, options)
      } catch (error) {
        if (!resume && noted !== null) await forgetLocalRun(this.localRuns, noted)
        throw error
      }
    }
  }

  /** Remember on this machine that the ledger is there. Null = that is not possible, which is said. */
  async #note({target, author}: Execution, {name, clusterId}: LedgerTopic): Promise<LocalRun | null> {
    const bootstrap = target.description.name
    const run = {v: 1, run: author.run, ledger: name, clusterId, bootstrap, startedAt: `${this.clock.now()}`} as const
    try {
      await noteLocalRun(this.localRuns, run)
      return run
    } catch (error) {
      if (!isKdlqError(error)) throw error
      await this.warnUser(`${error.message}; a ledger that goes missing will not be missed`)
      return null
    }
  }

  #placeOf(ledger: ReplayPlan['ledger'], flags: LookFlags): LedgerLookInput['ledger'] | null {
    const archive = flags['to-archive']
    if (ledger.kind === 'topic' || ledger.kind === 'file') return ledger
    return ledger.kind === 'none' || archive === undefined
      ? null
      : {kind: 'file', path: ledgerPath({kind: 'archive', path: archive})}
  }

  async #takeOver({target, author, plan}: Execution, ledger: LedgerTopic, other: string): Promise<void> {
    const transaction = {
      compression: plan.compression,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
    }
    const claims = await takeOver({cluster: target, clock: this.clock, transaction}, ledger, other, author, {
      signal: this.signal,
    })
    await this.say(`${other} was ended for good; it held ${plural(claims.length, 'partition')}`)
  }

  async #finish({result, error}: ReplayOutcome, execution: Execution, flags: RecordFlags): Promise<ReplayResult> {
    const {ledger} = execution
    await this.warnOfRegistry(execution.decoders)
    await this.document(flags, result, error)
    for (const line of failureLines(result, ledger)) await this.say(line)
    const {disorder} = result.metrics
    if (disorder > 0) {
      await this.warnUser(`${plural(disorder, 'record')} went out behind a later one of the same origin partition`)
    }
    await this.say(`${result.run ?? ''}: ${replaySummary(result)}`)
    const errors = errorsSummary(result)
    if (errors !== null) await this.say(errors)
    const next = nextCommand(result, ledger)
    if (next !== null) await this.suggestNext(next)
    if (error !== null) throw error
    if (isBadAnswer(result)) this.setExitCode(EXIT.BAD_ANSWER)
    return result
  }

  async #ownTarget(
    source: Cluster,
    flags: RecordFlags & TargetFlags,
    settings: EffectiveSettings,
  ): Promise<Cluster | null> {
    const archive = flags['to-archive']
    if (archive !== undefined) {
      return archiveTarget(archive, async () => {
        const {openArchive} = await import('../kafka/archive/index.ts')
        return openArchive(archive, {create: true, name: archive})
      })
    }
    const {
      'target-bootstrap-server': servers,
      'target-command-config': commandConfig,
      'target-profile': profile,
      timeout,
      'client-id': clientId,
    } = flags
    if (servers === undefined && commandConfig === undefined && profile === undefined) {
      return source.description.kind === 'kafka' ? null : this.connect(flags)
    }
    // The profile of the source says nothing about another cluster, its credentials least of all.
    const own = profile === undefined ? {profileName: null} : settings
    const config = await connectionConfig(
      {'bootstrap-server': servers, 'command-config': commandConfig, timeout, 'client-id': clientId},
      own,
      {env: this.io.env, command: this.commandName},
    )
    const {connectCluster} = await import('../kafka/client/index.ts')
    return connectCluster(config, {signal: this.signal, clock: this.clock, clientVersion: this.config.version})
  }
}

/** True when the answer is one document on stdout. */
export function isJson(flags: Readonly<Record<string, unknown>>): boolean {
  return ['json', 'jsonl'].includes(outputFormat(flags))
}

/** @throws RefusedError `E_CLAIMED` when another run holds a partition */
export function refuseIfClaimed(look: LedgerLook | null, nowMs: number): void {
  if (look === null || look.ledger === null || look.claims.length === 0) return
  throw claimedError(look.claims, look.ledger, nowMs)
}
