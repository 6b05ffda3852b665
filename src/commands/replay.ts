import {randomFillSync} from 'node:crypto'
import {Args} from '@oclif/core'
import {outputFormat} from '../lib/cli/base-command.ts'
import {connectionConfig, readRateOf} from '../lib/cli/connection.ts'
import {connectionFlags, documentFlags, filterFlags, selectionFlags, writingFlags} from '../lib/cli/flags.ts'
import {RecordCommand, type RecordFlags} from '../lib/cli/record-command.ts'
import {planFlags, type PlanFlags, runFlags, toMaxFailed, toPlanPolicy} from '../lib/cli/replay-flags.ts'
import {archivesOf, archiveTarget, assertAllowedTargets} from '../lib/cli/replay-target.ts'
import {asList, type EffectiveSettings} from '../lib/cli/config/settings.ts'
import {EXIT, UsageError} from '../lib/errors.ts'
import type {Cluster} from '../lib/kafka/ports.ts'
import {renderItems} from '../lib/render/formats.ts'
import {envelope} from '../lib/render/json.ts'
import {plural} from '../lib/render/numbers.ts'
import {planTargetView, renderReplayPlan, replaySummary} from '../lib/render/replay-plan.ts'
import {formatDuration} from '../lib/render/time.ts'
import {parseCheckDecisions} from '../lib/replay/check-names.ts'
import {readPlanFile, writePlanFile} from '../lib/replay/plan-file.ts'
import {planReplay, type PlannedReplay} from '../lib/replay/plan-replay.ts'
import type {ReplayPlan} from '../lib/replay/plan.ts'
import {type ReplayOutcome, type ReplayResult, unexecuted} from '../lib/replay/result.ts'
import {createRunId} from '../lib/replay/run-id.ts'
import {runReplay} from '../lib/replay/run-replay.ts'
import {refuseFailedChecks, verifyPlan} from '../lib/replay/verify-plan.ts'

/** Limit for the outcome of one batch, its repetitions included. */
const DELIVERY_TIMEOUT_MS = 60_000
/** Failures that are told one by one on stderr. */
const TOLD_FAILURES = 20

export default class Replay extends RecordCommand<ReplayResult> {
  static override summary = 'Put dead letters back where they came from.'
  static override description = `Plans first: reads the selected dead letters once, works out where each one goes, runs the checks and shows the result. Then asks, and writes at a bounded rate. --dry-run only plans, --yes does not ask, --plan-out saves the plan and --plan executes a saved one.

Records go to the topic and partition of their origin with their original time; the headers that the failure added are removed and one header, kdlq.replay, is added. A record on which a check refuses stops the run before anything is written: --allow CHECK sends such records, --skip CHECK leaves them out.

This version writes with an idempotent producer and keeps no ledger: running the same replay again sends the same records again.

Exit codes: 0 done; 3 some records failed, are gone or were not reached; 6 refused or declined, nothing was written; 130 and 143 stopped by a signal after the records in flight were settled.`
  static override examples = [
    {
      description: 'Show what would be done.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --bootstrap-server localhost:9092 --dry-run',
    },
    {
      description: 'Converter failures of the last day, 50 a second, without a question.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --stage VALUE_CONVERTER --since 1d --rate 50/s --yes',
    },
    {
      description: 'Without a cluster: from an archive into another one.',
      command: '<%= config.bin %> <%= command.id %> example:orders-dlq --skip tombstone --to-archive replayed --yes',
    },
  ]
  static override args = {
    source: Args.string({
      multiple: true,
      ignoreStdin: true,
      description:
        'Topic, quoted pattern, topic:partition:offset, archive path, example:NAME, or -. Left out with --plan.',
    }),
  }
  static override flags = {
    ...selectionFlags,
    ...filterFlags,
    ...planFlags,
    ...runFlags,
    ...connectionFlags,
    ...documentFlags,
    'dry-run': writingFlags['dry-run'],
    yes: writingFlags.yes,
  }
  protected override readonly writesToKafka = true

  async run(): Promise<ReplayResult> {
    const {args, flags, raw} = await this.parse(Replay)
    const given = new Set(raw.flatMap(token => (token.type === 'flag' ? [token.flag] : [])))
    const started = this.clock.monotonic()
    const settings = await this.settings(flags['target-profile'] ?? flags.profile)
    const saved = flags.plan === undefined ? null : await this.#savedPlan(flags.plan, args.source ?? [], given)
    if (saved === null) parseCheckDecisions(flags.allow ?? [], flags.skip ?? [])
    const request = await this.request(saved === null ? this.#sources(args.source) : [], flags)
    if (await this.printedExamples(request)) throw new UsageError('example: alone names no archive to replay')
    const archives = saved === null ? request.archives : archivesOf(saved)
    await using source = await this.open({...request, archives}, flags)
    const opened = await this.#openTarget(source, flags, settings)
    await using _ = opened.own
    const target = opened.cluster
    const planned =
      saved === null
        ? await this.#plan(source, target, await this.freeze(source, request), flags, settings)
        : {plan: saved, scanned: []}
    const {plan} = planned
    if (flags['plan-out'] !== undefined) {
      await writePlanFile(flags['plan-out'], plan)
      await this.say(`plan saved to ${flags['plan-out']}`)
    }
    const elapsed = (): number => this.clock.monotonic() - started
    const before = (): ReplayResult => unexecuted(plan, planned.scanned, elapsed())
    const json = isJson(flags)
    try {
      if (json && !flags['dry-run'] && !flags.yes && this.io.stderr.isTTY) await this.#showPlan(plan, 'stderr')
      if (!json) await this.#printPlan(plan, flags)
      if (saved === null) await this.closeScan(planned.scanned, plan.counts.selected)
      if (saved === null) refuseFailedChecks(plan)
      else await verifyPlan({source, target}, plan, {signal: this.signal})
      assertAllowedTargets(plan, asList(settings.allowedTargets), settings.profileName)
      if (plan.counts.selected === 0) return await this.#finishEmpty(before(), flags)
      if (flags['dry-run']) return await this.#finishDry(before(), flags)
      if (target.description.kind === 'kafka') this.assertWritable(settings)
      if (plan.counts.toReplay > 0) await this.consent(questionFor(plan), flags.yes)
    } catch (error) {
      await this.#document(flags, before(), error)
      throw error
    }
    return await this.#execute({source, target}, plan, flags, before)
  }

  /** The target of the flags, and what of it has to be closed. */
  async #openTarget(
    source: Cluster,
    flags: RecordFlags & TargetFlags,
    settings: EffectiveSettings,
  ): Promise<{readonly cluster: Cluster; readonly own: Cluster | null}> {
    const own = await this.#ownTarget(source, flags, settings)
    return {cluster: own ?? source, own}
  }

  async #ownTarget(
    source: Cluster,
    flags: RecordFlags & TargetFlags,
    settings: EffectiveSettings,
  ): Promise<Cluster | null> {
    const archive = flags['to-archive']
    if (archive !== undefined) {
      return archiveTarget(archive, async () => {
        const {openArchive} = await import('../lib/kafka/archive/index.ts')
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
    const {connectCluster} = await import('../lib/kafka/client/index.ts')
    return connectCluster(config, {signal: this.signal, clock: this.clock, clientVersion: this.config.version})
  }

  #sources(sources: readonly string[] | undefined): readonly string[] {
    if (sources !== undefined && sources.length > 0) return sources
    throw new UsageError('no SOURCE is named', {
      hints: ['name a dead letter topic or an archive, or execute a saved plan with --plan FILE'],
    })
  }

  async #savedPlan(path: string, sources: readonly string[], given: ReadonlySet<string>): Promise<ReplayPlan> {
    const planned = Object.keys({...selectionFlags, ...filterFlags, ...planFlags}).filter(name => given.has(name))
    const [flag] = planned
    if (sources.length > 0 || flag !== undefined) {
      throw new UsageError(
        `--plan executes what is in the file, without ${flag === undefined ? 'a SOURCE' : `--${flag}`}`,
        {
          hints: ['make a new plan with --plan-out to change it'],
        },
      )
    }
    return readPlanFile(path)
  }

  async #plan(
    source: Cluster,
    target: Cluster,
    selection: Awaited<ReturnType<Replay['freeze']>>,
    flags: RecordFlags & PlanFlags,
    settings: EffectiveSettings,
  ): Promise<PlannedReplay> {
    const policy = toPlanPolicy(flags, asList(settings.stripHeaders))
    if (selection.ranges.some(({fromTimeMs, toTimeMs}) => fromTimeMs !== null || toTimeMs !== null)) {
      await this.warnUser(
        'dead letters of Kafka Connect keep the time of their source record: the bounds are not the time of the failure',
      )
    }
    await using progress = this.progress()
    return planReplay(
      {source, target, clock: this.clock, onProgress: done => void progress.update({label: 'planning', done})},
      {...policy, selection, readRate: readRateOf(flags, settings)},
      {signal: this.signal},
    )
  }

  async #execute(
    clusters: {readonly source: Cluster; readonly target: Cluster},
    plan: ReplayPlan,
    flags: RecordFlags & TargetFlags & LimitFlags,
    before: () => ReplayResult,
  ): Promise<ReplayResult> {
    const run = createRunId(this.clock.now(), into => randomFillSync(into))
    let outcome: ReplayOutcome
    try {
      await using progress = this.progress()
      const started = this.clock.monotonic()
      outcome = await runReplay(
        {
          ...clusters,
          clock: this.clock,
          onProgress: ({done, total}) => {
            const left = ((this.clock.monotonic() - started) / done) * (total - done)
            void progress.update({label: `replaying, ${formatDuration(left)} left`, done, total})
          },
        },
        {
          run,
          plan,
          maxFailed: toMaxFailed(flags, plan.counts.toReplay),
          maxDurationMs: flags['max-duration'] ?? null,
          deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
          readRate: readRateOf(flags, await this.settings(flags.profile)),
        },
        {signal: this.signal},
      )
    } catch (error) {
      await this.#document(flags, before(), error)
      throw error
    }
    return this.#finish(outcome, flags)
  }

  async #finish({result, error}: ReplayOutcome, flags: RecordFlags): Promise<ReplayResult> {
    const {counts, stopped, failures} = result
    await this.#document(flags, result, error)
    for (const {address, state, message} of failures.slice(0, TOLD_FAILURES)) {
      await this.say(`${address} ${state === 'failed' ? 'failed' : 'may have been written'}: ${message}`)
    }
    const more = counts.failed + counts.unknown - Math.min(failures.length, TOLD_FAILURES)
    if (more > 0) await this.say(`and ${plural(more, 'more record')}; --json lists up to 1,000`)
    if (stopped?.settled === false)
      await this.say('the target did not answer in time: the records above may have been written')
    await this.say(`${result.run ?? ''}: ${replaySummary(result)}`)
    const [first] = failures
    const [target] = result.targets
    if (first !== undefined) await this.suggestNext(`kdlq show ${first.address}`)
    else if (target !== undefined)
      await this.suggestNext(`kdlq inspect ${nextSource(result.plan, target.topic)} --tail 10`)
    if (error !== null) throw error
    const unread = result.scanned.some(({complete}) => !complete)
    if (counts.failed > 0 || counts.unknown > 0 || counts.gone > 0 || stopped !== null || unread) {
      this.setExitCode(EXIT.BAD_ANSWER)
    }
    return result
  }

  async #finishEmpty(result: ReplayResult, flags: RecordFlags): Promise<ReplayResult> {
    await this.#document(flags, result, null)
    await this.say('0 records selected, nothing to replay')
    if (flags['fail-if-empty'] === true) this.setExitCode(EXIT.BAD_ANSWER)
    return result
  }

  async #finishDry(result: ReplayResult, flags: RecordFlags): Promise<ReplayResult> {
    await this.#document(flags, result, null)
    await this.say('dry run: nothing was written')
    const file = flags['plan-out']
    if (typeof file === 'string') await this.suggestNext(`kdlq replay --plan ${file}`)
    return result
  }

  /** The one JSON document, with the error that ends the run; nothing in the other formats. */
  async #document(flags: RecordFlags, result: ReplayResult, error: unknown): Promise<void> {
    if (!isJson(flags)) return
    const body = error === null ? {result} : {result, error: this.tellInDocument(error)}
    await this.print(envelope(this.commandName, {...body, warnings: this.warnings}, this.io.stdout.isTTY))
  }

  async #printPlan(plan: ReplayPlan, flags: RecordFlags): Promise<void> {
    const format = outputFormat(flags)
    if (format !== 'csv' && format !== 'markdown') return this.#showPlan(plan, 'stdout')
    const columns = planTargetView.defaultColumns
    await this.printAll(renderItems(plan.targets, planTargetView, {format, columns, context: this.renderContext()}))
  }

  async #showPlan(plan: ReplayPlan, stream: 'stdout' | 'stderr'): Promise<void> {
    for await (const chunk of renderReplayPlan(plan, this.renderContext())) await this.io[stream].write(chunk)
    await this.io[stream].flush()
  }
}

interface TargetFlags {
  readonly 'to-archive'?: string | undefined
  readonly 'target-bootstrap-server'?: string | undefined
  readonly 'target-command-config'?: string | undefined
  readonly 'target-profile'?: string | undefined
}

type LimitFlags = Parameters<typeof toMaxFailed>[0] & {readonly 'max-duration'?: number | undefined}

function isJson(flags: Readonly<Record<string, unknown>>): boolean {
  return ['json', 'jsonl'].includes(outputFormat(flags))
}

/** Where the replayed records can be looked at. */
function nextSource({target}: ReplayPlan, topic: string): string {
  return target.kind === 'archive' ? `${target.name.replace(/\/$/, '')}/` : topic
}

/** `Replay 134 records to orders, payments?` */
function questionFor({counts, targets, target}: ReplayPlan): string {
  const topics = [...new Set(targets.map(({topic}) => topic))]
  const named =
    topics.length > 3 ? `${topics.slice(0, 3).join(', ')} and ${topics.length - 3} more topics` : topics.join(', ')
  return `Replay ${plural(counts.toReplay, 'record')} to ${named} on ${target.name}?`
}
