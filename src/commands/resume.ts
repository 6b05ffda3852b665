import {Args} from '@oclif/core'
import {connectionFlags, documentFlags} from '../lib/cli/flags.ts'
import {ReplayCommand, waitText} from '../lib/cli/replay-command.ts'
import {ledgerFlags, resumeFlags, runLimitFlags, targetFlags, toLedgerChoice} from '../lib/cli/replay-flags.ts'
import {archivesOf, assertAllowedTargets} from '../lib/cli/replay-target.ts'
import {asList} from '../lib/cli/config/settings.ts'
import {RefusedError, UsageError} from '../lib/errors.ts'
import type {Cluster} from '../lib/kafka/ports.ts'
import {loadRun, type StoredRun} from '../lib/replay/ledger/read-ledger.ts'
import type {LedgerTopic} from '../lib/replay/ledger/types.ts'
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
    const choice = toLedgerChoice(flags.ledger, settings.ledger ?? null)
    if (choice.kind !== 'topic') throw new UsageError('resume needs the ledger that holds the run')
    // The ledger lies on the target's cluster; where the source is another one is known from the plan only.
    await using connected = await this.connect(flags)
    const opened = await this.openTarget(connected, flags, settings)
    await using _ = opened.own
    const target = opened.cluster
    const ledger = await this.ledgerTopic(target, choice.name, false)
    const stored = await this.#load(target, ledger, args.run)
    const {plan} = stored.document
    const archives = archivesOf(plan)
    await using archive = archives.length === 0 ? null : await this.open({archives, skipBadLines: false}, flags)
    if (target.description.kind === 'kafka') this.assertWritable(settings)
    assertAllowedTargets(plan, asList(settings.allowedTargets), settings.profileName)
    const execution = {
      source: archive ?? connected,
      target,
      plan,
      ledger,
      author: {run: args.run, by: this.operator()},
      resume: true,
      reason: stored.head?.reason ?? null,
      resendUnknown: flags['resend-unknown'],
      takeOver: null,
    }
    return await this.execute(execution, flags, () => unexecuted(plan, [], this.clock.monotonic() - started))
  }

  async #load(target: Cluster, ledger: LedgerTopic, run: string): Promise<StoredRun> {
    const stored = await loadRun({cluster: target, clock: this.clock}, ledger, run, {
      onWait: blocker => void this.say(waitText(blocker)),
      signal: this.signal,
    })
    const {status} = stored
    if (status?.state === 'taken-over') {
      throw new RefusedError(`run ${run} was taken over: ${status.reason ?? 'by another run'}`, {
        code: 'E_TAKEN_OVER',
        hints: ['start a new replay: what this run did is in the ledger and is left out'],
        context: {run, by: status.by},
      })
    }
    return stored
  }
}
