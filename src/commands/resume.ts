import {access, rm} from 'node:fs/promises'
import {Args} from '@oclif/core'
import {connectionFlags, documentFlags} from '../lib/cli/flags.ts'
import {DELIVERY_TIMEOUT_MS} from '../lib/cli/ledger-command.ts'
import {ReplayCommand} from '../lib/cli/replay-command.ts'
import type {OpenLedger} from '../lib/cli/replay-report.ts'
import {errorFlags, toErrors} from '../lib/cli/replay-error-flags.ts'
import {ledgerFlags, resumeFlags, targetFlags} from '../lib/cli/replay-flags.ts'
import {runLimitFlags} from '../lib/cli/run-limits.ts'
import {archivesOf, assertAllowedTargets} from '../lib/cli/replay-target.ts'
import {asStdin, spoolPath} from '../lib/cli/stdin-spool.ts'
import type {RecordFlags} from '../lib/cli/record-command.ts'
import type {Cluster} from '../lib/kafka/ports.ts'
import type {ArchiveSource} from '../lib/select/source.ts'
import {asList} from '../lib/cli/config/settings.ts'
import {BugError, RefusedError, UsageError} from '../lib/errors.ts'
import {plural} from '../lib/render/numbers.ts'
import {TRANSACTION_TIMEOUT_MS} from '../lib/replay/delivery.ts'
import {findRun, type FoundRun, type LedgerPlace} from '../lib/replay/find-runs.ts'
import {transactionalIdOf} from '../lib/replay/ledger/names.ts'
import type {Blocker} from '../lib/replay/ledger/wait-stable.ts'
import {type ReplayResult, unexecuted} from '../lib/replay/result.ts'
import {isRunId} from '../lib/replay/run-id.ts'

export default class Resume extends ReplayCommand {
  static override summary = 'Go on with a run that was interrupted, on any machine.'
  static override description = `Reads the run's plan from the ledger, fences what may be left of the old process, reads the ledger to its end, and does what is left. Needs nothing but the connection and the name of the ledger.

Records that the run had replayed are not sent again; those that the target had refused stay failed, a new replay offers them again. With --delivery at-least-once the target is searched for what was being sent; what cannot be found out is unknown, listed, and sent again only with --resend-unknown.

Exit codes: as replay; 6 when the ledger does not know the run, or the run was taken over.`
  static override examples = [
    {
      description: 'Finish a run after a crash.',
      command: '<%= config.bin %> <%= command.id %> r-01M8PFKC8Z1098W8C3YBZBAJ4K --bootstrap-server localhost:9092',
    },
  ]
  static override args = {
    run: Args.string({required: true, ignoreStdin: true, description: 'Id of the run; kdlq runs lists them.'}),
  }
  static override flags = {
    ...errorFlags,
    ...resumeFlags,
    ...ledgerFlags,
    ...runLimitFlags,
    ...targetFlags,
    ...connectionFlags,
    ...documentFlags,
  }

  async run(): Promise<ReplayResult> {
    const {args, flags} = await this.parse(Resume)
    const started = this.clock.monotonic()
    if (!isRunId(args.run)) {
      throw new UsageError(`${JSON.stringify(args.run)} is no run id`, {
        hints: ['kdlq runs lists the runs of a ledger'],
      })
    }
    const settings = await this.settings(flags['target-profile'] ?? flags.profile)
    const file = await this.ledgerFile(flags)
    // The ledger lies on the target's cluster; which cluster is read is known from the plan only.
    await using cleanup = new AsyncDisposableStack()
    await using connected = file === null ? await this.connect(flags) : null
    const elsewhere = connected === null ? null : await this.openTarget(connected, flags, settings)
    cleanup.use(elsewhere?.own)
    await using opened = await this.openLedgerPlace(flags, elsewhere?.cluster ?? null)
    const found = await this.#find(opened.place, args.run)
    const plan = {...found.document.plan, errors: toErrors(flags, found.document.plan.errors)}
    const archives = archivesOf(plan)
    await using source =
      archives.length === 0 && connected !== null ? null : await this.#openArchives(archives, args.run, flags)
    const from = source ?? connected
    if (from === null) throw new BugError('a run was found, but not what it reads')
    const target = elsewhere ?? (await this.openTarget(from, flags, settings))
    if (elsewhere === null) cleanup.use(target.own)
    if (target.cluster.description.kind === 'kafka') this.assertWritable(settings)
    assertAllowedTargets(plan, asList(settings.allowedTargets), settings.profileName)
    const execution = {
      source: from,
      target: target.cluster,
      plan,
      ledger: ledgerOf(opened.place, flags['to-archive']),
      author: {run: args.run, by: this.operator()},
      resume: true,
      reason: found.summary.reason,
      earlierMetrics: found.summary.metrics,
      resendUnknown: flags['resend-unknown'],
      decoders: await this.decoders(plan.decode, flags),
      takeOver: null,
    }
    const {replayed} = found.summary.counts
    await this.say(`${args.run}: ${plural(replayed, 'record')} of ${plan.counts.toReplay} replayed before`)
    const result = await this.execute(execution, flags, () => unexecuted(plan, [], this.clock.monotonic() - started))
    if (result.stopped === null) await rm(spoolPath(this.io.env, this.runtime.home, args.run), {force: true})
    return result
  }

  /** Stdin is what the run kept of it on this machine. */
  async #openArchives(archives: readonly ArchiveSource[], run: string, flags: RecordFlags): Promise<Cluster> {
    if (archives.length !== 1 || archives[0]?.kind !== 'stdin') return this.open({archives, skipBadLines: false}, flags)
    const path = spoolPath(this.io.env, this.runtime.home, run)
    try {
      await access(path)
    } catch (cause) {
      throw new RefusedError('the records of this run came on stdin and are not on this machine', {
        code: 'E_NO_SPOOL',
        hints: [
          'resume on the machine that began, or replay the same records again: those that were done are left out',
        ],
        context: {path},
        cause,
      })
    }
    const opened = await this.open({archives: [{kind: 'archive', path}], skipBadLines: false}, flags)
    return asStdin(opened)
  }

  /** What the old process left open would hold the ledger back until it times out; whoever resumes the run ends it anyway. */
  async #fence({cluster}: Extract<LedgerPlace, {kind: 'topic'}>, run: string): Promise<void> {
    const options = {
      transactionalId: transactionalIdOf(run),
      compression: 'none',
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
    } as const
    await using _ = await cluster.writer.openTransactional(options, {signal: this.signal})
  }

  async #find(place: LedgerPlace, run: string): Promise<FoundRun> {
    const onWait = async (blocker: Blocker): Promise<void> => {
      if (place.kind === 'topic' && blocker.transactionalId === transactionalIdOf(run)) await this.#fence(place, run)
      else this.ledgerReads.onWait(blocker)
    }
    const found = await findRun(place, run, this.clock, {onWait, signal: this.signal})
    const {state, endReason} = found.summary
    if (state !== 'taken-over') return found
    throw new RefusedError(`run ${run} was ${endReason ?? 'taken over'}`, {
      code: 'E_TAKEN_OVER',
      hints: ['start a new replay: what this run did is in the ledger and is left out'],
      context: {run},
    })
  }
}

function ledgerOf(place: LedgerPlace, archive: string | undefined): OpenLedger {
  if (place.kind === 'topic') return {kind: 'topic', topic: place.ledger}
  return archive === undefined ? {kind: 'file', path: place.path} : {kind: 'archive', path: archive}
}
