import * as Flags from '@oclif/core/flags'
import type {Interfaces} from '@oclif/core'
import type {DeadLetterScan} from '../dead-letter/scan.ts'
import {RefusedError, UsageError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {FrozenSelection} from '../select/selection.ts'
import {decodeFlags, withBareDecode} from './decode-flags.ts'
import {type HandledChoice, type LedgerLens, ledgerLens} from './ledger-lens.ts'
import {waitText} from './ledger-wait.ts'
import {localRunsFolder, refuseIfMissed} from './local-runs.ts'
import {RecordCommand, type RecordFlags, type ScanExtras} from './record-command.ts'
import {type LedgerChoice, ledgerFlag, toLedgerChoice} from './replay-flags.ts'

/** Flags that let a command see what was done to the records, and what is in them. */
export const lookFlags = {
  ...decodeFlags,
  handled: Flags.option({
    options: ['hide', 'show', 'only'] as const,
    helpGroup: 'ledger',
    summary: 'Leave out what the ledger knows as handled, show it (default), or show nothing else.',
  })(),
  ledger: ledgerFlag({
    helpGroup: 'ledger',
    summary: 'Read this ledger; else one is read only for --handled hide or only.',
  }),
}

/** Values of `lookFlags`. */
export type LookFlags = RecordFlags & {
  readonly handled?: HandledChoice | undefined
  readonly ledger?: LedgerChoice | undefined
}

/** A scan and what it was seen through; null = no ledger was read. */
export interface Look {
  readonly scan: DeadLetterScan
  readonly ledger: LedgerLens | null
}

/** Base of the commands that look at records, and write nothing into a ledger. */
export abstract class LookCommand<Result> extends RecordCommand<Result> {
  /** As the base's; `--decode` may stand alone. */
  protected override async parse<
    F extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    B extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    A extends Interfaces.OutputArgs<Interfaces.ArgInput>,
  >(options?: Interfaces.Input<F, B, A>, argv?: string[]): Promise<Interfaces.ParserOutput<F, B, A>> {
    return super.parse(options, withBareDecode(argv ?? this.argv))
  }

  /**
   * As `scan`; with `--ledger`, or `--handled hide|only`, through the ledger, which is read first.
   * @throws RefusedError `E_NO_LEDGER` when it is not there
   */
  protected async look(
    cluster: Cluster,
    frozen: FrozenSelection,
    flags: LookFlags,
    extras: Pick<ScanExtras, 'label' | 'asIs' | 'payloads'> = {},
  ): Promise<Look> {
    const ledger = await this.#lens(cluster, frozen, flags)
    const {where = []} = frozen.filters.include
    if (ledger === null && where.some(text => /\bhandled\b/.test(text))) {
      await this.warnUser('no ledger was read, so handled is null in --where: name one with --ledger')
    }
    return {ledger, scan: await this.scan(cluster, frozen, flags, {...extras, ledger})}
  }

  async #lens(cluster: Cluster, frozen: FrozenSelection, flags: LookFlags): Promise<LedgerLens | null> {
    const {handled = 'show', ledger} = flags
    if (handled === 'show' && (ledger === undefined || ledger.kind === 'none')) return null
    const settings = await this.settings(flags.profile)
    const choice = toLedgerChoice(ledger, settings.ledger ?? null)
    if (choice.kind === 'none') {
      throw new UsageError(`--handled ${handled} needs a ledger`, {
        hints: ['name it: --ledger topic:NAME or file:PATH'],
      })
    }
    const isElsewhere = choice.kind === 'topic' && cluster.description.kind !== 'kafka'
    if (isElsewhere && ledger === undefined) {
      throw new UsageError(`--handled ${handled} needs to know which ledger is that of this archive`, {
        hints: ['name it: --ledger file:PATH, or --ledger topic:NAME with --bootstrap-server HOST:PORT'],
      })
    }
    const own = isElsewhere ? await this.connect(flags) : null
    try {
      const target = own ?? cluster
      const {lookAtLedger} = await import('../replay/look-at-ledger.ts')
      const {view, findings} = await lookAtLedger(
        {source: cluster, target, clock: this.clock},
        {
          ledger: choice,
          ranges: frozen.ranges,
          isNewNormal: true,
          takeOver: null,
          onWait: blocker => void this.say(waitText(blocker)),
          signal: this.signal,
        },
      )
      if (view === null && choice.kind === 'topic') {
        const {clusterId, name} = target.description
        await refuseIfMissed(localRunsFolder(this.io.env, this.runtime.home), {ledger: choice.name, clusterId}, name)
      }
      if (view === null) throw noLedger(choice.kind === 'topic' ? choice.name : choice.path)
      for (const {check, detail} of findings) if (check === 'ledger-retention') await this.warnUser(detail)
      return ledgerLens(view, handled)
    } finally {
      await own?.close()
    }
  }
}

function noLedger(name: string): RefusedError {
  return new RefusedError(`there is no ledger ${name}: nothing is known about what was handled`, {
    code: 'E_NO_LEDGER',
    hints: [
      'check --ledger and the cluster that you are connected to',
      'to see the records without a ledger: leave --ledger and --handled out',
    ],
    context: {ledger: name},
  })
}
