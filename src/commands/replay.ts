import {randomFillSync} from 'node:crypto'
import {rm} from 'node:fs/promises'
import {Args} from '@oclif/core'
import {outputFormat} from '../lib/cli/base-command.ts'
import {withBareDecode} from '../lib/cli/decode-flags.ts'
import {readRateOf} from '../lib/cli/connection.ts'
import {connectionFlags, documentFlags, filterFlags, selectionFlags, writingFlags} from '../lib/cli/flags.ts'
import type {RecordFlags} from '../lib/cli/record-command.ts'
import {isJson, type LookFlags, refuseIfClaimed, ReplayCommand} from '../lib/cli/replay-command.ts'
import type {OpenLedger} from '../lib/cli/replay-report.ts'
import {type ErrorFlags, toErrors} from '../lib/cli/replay-error-flags.ts'
import {toDecodeRule} from '../lib/cli/replay-decoders.ts'
import {planFlags, type PlanFlags, runFlags, toPlanPolicy} from '../lib/cli/replay-flags.ts'
import {archivesOf, assertAllowedTargets} from '../lib/cli/replay-target.ts'
import {asList, type EffectiveSettings, headerMappingsOf} from '../lib/cli/config/settings.ts'
import {asStdin, spoolPath, spoolStdin} from '../lib/cli/stdin-spool.ts'
import {BugError, EXIT, UsageError} from '../lib/errors.ts'
import type {Cluster} from '../lib/kafka/ports.ts'
import {renderItems} from '../lib/render/formats.ts'
import {plural} from '../lib/render/numbers.ts'
import {planTargetView, renderReplayPlan} from '../lib/render/replay-plan.ts'
import {parseCheckDecisions} from '../lib/replay/check-names.ts'
import type {LedgerLook} from '../lib/replay/look-at-ledger.ts'
import {readPlanFile, writePlanFile} from '../lib/replay/plan-file.ts'
import type {PlanInput, PlannedReplay} from '../lib/replay/plan-input.ts'
import {planReplay} from '../lib/replay/plan-replay.ts'
import type {ReplayPlan} from '../lib/replay/plan.ts'
import {type ReplayResult, unexecuted} from '../lib/replay/result.ts'
import type {ArchiveSource} from '../lib/select/source.ts'
import type {Decoders} from '../lib/serde/index.ts'
import {createRunId, isRunId} from '../lib/replay/run-id.ts'
import {refuseFailedChecks, verifyPlan} from '../lib/replay/verify-plan.ts'

/** A plan, and what the ledger says. */
interface Planned extends PlannedReplay {
  readonly look: LedgerLook | null
}

export default class Replay extends ReplayCommand {
  static override summary = 'Put dead letters back where they came from.'
  static override description = `Plans first: reads the selected dead letters once, works out where each one goes, runs the checks and shows the result. Then asks, and writes at a bounded rate. --dry-run only plans, --yes does not ask, --plan-out saves the plan and --plan executes a saved one.

Records go to the topic and partition of their origin with their original time; the headers that the failure added are removed and one header, kdlq.replay, is added. A record on which a check refuses stops the run before anything is written: --allow CHECK sends such records, --skip CHECK leaves them out.

Records and their ledger entries go in one transaction: after a kill, kdlq resume goes on where the last commit was, and running the same replay again sends nothing twice. --delivery at-least-once does without transactions: what an interrupted run may have sent is listed and left out, until --resend-unknown.

What the target refuses is named; with --parking-topic it goes there, with headers that say why, in the run's own transaction. With --decode, what cannot be decoded has failed before it is sent. The --errors-* flags mean what errors.* of a connector means.

Exit codes: 0 done; 3 some records failed, were parked because they failed, are gone or were not reached; 6 refused or declined, nothing was written (also when this machine wrote to a ledger that is missing now); 130 and 143 stopped by a signal after the records in flight were settled.`
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
      description: 'Put aside what cannot be replayed.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --parking-topic orders-parking --errors-log --yes',
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
    reason: writingFlags.reason,
  }

  async run(): Promise<ReplayResult> {
    const {args, flags, raw} = await this.parse(Replay, withBareDecode(this.argv))
    assertRunId(flags['take-over'])
    const given = new Set(raw.flatMap(token => (token.type === 'flag' ? [token.flag] : [])))
    const started = this.clock.monotonic()
    const settings = await this.settings(flags['target-profile'] ?? flags.profile)
    const saved = flags.plan === undefined ? null : await this.#savedPlan(flags.plan, args.source ?? [], given, flags)
    const policy = saved === null ? this.#policy(flags, settings, await this.settings(flags.profile)) : null
    const request = await this.request(saved === null ? this.#sources(args.source) : [], flags)
    const decode = saved === null ? toDecodeRule(flags, request.selection.filters) : saved.decode
    const decoders = await this.decoders(decode, flags)
    if (await this.printedExamples(request)) throw new UsageError('example: alone names no archive to replay')
    const archives = saved === null ? request.archives : archivesOf(saved)
    const run = createRunId(this.clock.now(), into => randomFillSync(into))
    await using kept = await this.#spool(archives, flags['dry-run'], run)
    await using source =
      kept === null
        ? await this.open({...request, archives}, flags)
        : asStdin(await this.open({...request, archives: [{kind: 'archive', path: kept.path}]}, flags))
    const opened = await this.openTarget(source, flags, settings)
    await using _ = opened.own
    const target = opened.cluster
    const clusters = {source, target}
    const planned =
      policy === null || saved !== null
        ? await this.#saved(clusters, saved, flags)
        : await this.#plan(
            clusters,
            {...policy, decode, selection: await this.freeze(source, request)},
            flags,
            settings,
            decoders,
          )
    const {plan} = planned
    if (flags['plan-out'] !== undefined) {
      await writePlanFile(flags['plan-out'], plan)
      await this.say(`plan saved to ${flags['plan-out']}`)
    }
    const elapsed = (): number => this.clock.monotonic() - started
    const before = (): ReplayResult => unexecuted(plan, planned.scanned, elapsed())
    const json = isJson(flags)
    let ledger: OpenLedger = {kind: 'none'}
    try {
      if (json && !flags['dry-run'] && !flags.yes && this.io.stderr.isTTY) await this.#showPlan(plan, 'stderr')
      if (!json) await this.#printPlan(plan, flags)
      if (saved === null) await this.closeScan(planned.scanned, plan.counts.selected)
      for (const {id, level, hint} of plan.checks)
        if (level === 'warn' && hint !== undefined) await this.say(`hint: ${id}: ${hint}`)
      if (saved === null) refuseFailedChecks(plan)
      else await verifyPlan(clusters, plan, {signal: this.signal})
      assertAllowedTargets(plan, asList(settings.allowedTargets), settings.profileName)
      refuseIfClaimed(planned.look, this.clock.now())
      if (plan.counts.selected === 0) return await this.#finishEmpty(before(), flags)
      if (flags['dry-run']) return await this.#finishDry(before(), flags)
      if (target.description.kind === 'kafka') this.assertWritable(settings)
      // What is held at the cap is written down too, where there is a ledger.
      const writes = plan.counts.toReplay > 0 || plan.counts.parked > 0
      if (writes || (plan.counts.held > 0 && (planned.look?.ledger ?? null) !== null)) {
        await this.checkLedger(target, plan.ledger, flags['create-ledger'])
        await this.consent(questionFor(plan), flags.yes)
        ledger = await this.openLedger(target, plan.ledger, flags)
      }
    } catch (error) {
      await this.document(flags, before(), error)
      throw error
    }
    const execution = {
      ...clusters,
      plan,
      ledger,
      author: {run, by: this.operator()},
      resume: false,
      reason: flags.reason ?? null,
      resendUnknown: false,
      decoders,
      takeOver: flags['take-over'] ?? null,
    }
    if (kept !== null) kept.keep = ledger.kind !== 'none'
    const result = await this.execute(execution, flags, before)
    if (kept !== null) kept.keep = result.stopped !== null
    return result
  }

  /** Records on stdin are there once: they are kept until the run is done, so that it can be resumed. */
  async #spool(
    archives: readonly ArchiveSource[],
    dryRun: boolean,
    run: string,
  ): Promise<(AsyncDisposable & {readonly path: string; keep: boolean}) | null> {
    if (dryRun || archives.length !== 1 || archives[0]?.kind !== 'stdin') return null
    const path = spoolPath(this.io.env, this.runtime.home, run)
    await spoolStdin(this.io.stdin, path, this.signal)
    const spool = {
      path,
      keep: false,
      [Symbol.asyncDispose]: async (): Promise<void> => {
        if (!spool.keep) await rm(path, {force: true})
      },
    }
    return spool
  }

  #sources(sources: readonly string[] | undefined): readonly string[] {
    if (sources !== undefined && sources.length > 0) return sources
    throw new UsageError('no SOURCE is named', {
      hints: ['name a dead letter topic or an archive, or execute a saved plan with --plan FILE'],
    })
  }

  async #savedPlan(
    path: string,
    sources: readonly string[],
    given: ReadonlySet<string>,
    flags: ErrorFlags,
  ): Promise<ReplayPlan> {
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
    const plan = await readPlanFile(path)
    return {...plan, errors: toErrors(flags, plan.errors)}
  }

  /** Everything about a plan that flags can get wrong, before anything is connected. */
  #policy(
    flags: PlanFlags & LookFlags,
    settings: EffectiveSettings,
    source: EffectiveSettings,
  ): Omit<PlanInput, 'selection'> {
    parseCheckDecisions(flags.allow ?? [], flags.skip ?? [])
    const target = flags['to-archive'] === undefined ? 'kafka' : 'archive'
    // The dead letters are those of the source; what must not arrive, the target knows too.
    const stripHeaders = [...new Set([...asList(source.stripHeaders), ...asList(settings.stripHeaders)])]
    const headers = {stripHeaders, headerMappings: headerMappingsOf(source)}
    return toPlanPolicy(flags, headers, {
      target,
      ledgerSetting: settings.ledger ?? null,
      parkingSetting: settings.parkingTopic ?? null,
    })
  }

  async #saved(
    clusters: {readonly source: Cluster; readonly target: Cluster},
    plan: ReplayPlan | null,
    flags: LookFlags,
  ): Promise<Planned> {
    if (plan === null) throw new BugError('neither a plan nor what it is made of')
    return {plan, scanned: [], look: await this.look(clusters, plan.ledger, plan.source.ranges, flags)}
  }

  async #plan(
    clusters: {readonly source: Cluster; readonly target: Cluster},
    input: PlanInput,
    flags: RecordFlags & LookFlags,
    settings: EffectiveSettings,
    decoders: Decoders | null,
  ): Promise<Planned> {
    const {ranges} = input.selection
    if (ranges.some(({fromTimeMs, toTimeMs}) => fromTimeMs !== null || toTimeMs !== null)) {
      await this.warnUser(
        'dead letters of Kafka Connect keep the time of their source record: the bounds are not the time of the failure',
      )
    }
    const look = await this.look(clusters, input.ledger, ranges, flags)
    await using progress = this.progress()
    const planned = await planReplay(
      {
        ...clusters,
        clock: this.clock,
        ledger: look?.view ?? null,
        decoders,
        ledgerFindings: look?.findings ?? [],
        onProgress: done => void progress.update({label: 'planning', done}),
      },
      {...input, readRate: readRateOf(flags, settings)},
      {signal: this.signal},
    )
    await this.warnOfRegistry(decoders)
    return {...planned, look}
  }

  async #finishEmpty(result: ReplayResult, flags: RecordFlags): Promise<ReplayResult> {
    await this.document(flags, result, null)
    await this.say('0 records selected, nothing to replay')
    if (flags['fail-if-empty'] === true) this.setExitCode(EXIT.BAD_ANSWER)
    return result
  }

  async #finishDry(result: ReplayResult, flags: RecordFlags): Promise<ReplayResult> {
    await this.document(flags, result, null)
    await this.say('dry run: nothing was written')
    const file = flags['plan-out']
    if (typeof file === 'string') await this.suggestNext(`kdlq replay --plan ${file}`)
    return result
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

/** `Replay 134 records to orders, payments?` */
function questionFor({counts, targets, target, parking}: ReplayPlan): string {
  const parked =
    parking === null || counts.parked === 0 ? null : `${plural(counts.parked, 'record')} in ${parking.topic}`
  if (counts.toReplay === 0 && parked !== null) return `Park ${parked} on ${target.name}?`
  if (counts.toReplay === 0) return `Note ${plural(counts.held, 'held record')} in the ledger on ${target.name}?`
  const topics = [...new Set(targets.map(({topic}) => topic))]
  const named =
    topics.length > 3 ? `${topics.slice(0, 3).join(', ')} and ${topics.length - 3} more topics` : topics.join(', ')
  const also = parked === null ? '' : ` and park ${parked}`
  return `Replay ${plural(counts.toReplay, 'record')} to ${named}${also} on ${target.name}?`
}

/** A name that is no run would only fence somebody else's producer. @throws UsageError */
function assertRunId(run: string | undefined): void {
  if (run === undefined || isRunId(run)) return
  throw new UsageError(`${JSON.stringify(run)} is no run id`, {hints: ['kdlq runs lists the runs of a ledger']})
}
