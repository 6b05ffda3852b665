import type {Cluster} from '../kafka/ports.ts'
import {ledgerPath} from '../replay/file-delivery.ts'
import type {LedgerPlace} from '../replay/find-runs.ts'
import {ensureLedger} from '../replay/ledger/ensure-ledger.ts'
import type {LedgerTopic} from '../replay/ledger/types.ts'
import type {Blocker} from '../replay/ledger/wait-stable.ts'
import {isKdlqError, UsageError} from '../errors.ts'
import {waitText} from './ledger-wait.ts'
import {localRunsFolder, refuseIfMissed} from './local-runs.ts'
import {RecordCommand, type RecordFlags} from './record-command.ts'
import {type LedgerChoice, toLedgerChoice} from './replay-flags.ts'

/** Limit for the outcome of one batch, its repetitions included. */
export const DELIVERY_TIMEOUT_MS = 60_000

/** Flags that say where a ledger lies. */
export interface LedgerPlaceFlags {
  readonly ledger?: LedgerChoice | undefined
  readonly 'to-archive'?: string | undefined
}

/** Base of the commands that read or write a ledger. */
export abstract class LedgerCommand<Result> extends RecordCommand<Result> {
  /**
   * The ledger of the flags, else of the configuration; connects only for a topic. Dispose it.
   * @param cluster that holds a ledger topic; null = connect by the flags
   * @throws RefusedError when there is no such ledger
   */
  protected async openLedgerPlace(
    flags: RecordFlags & LedgerPlaceFlags,
    cluster: Cluster | null = null,
  ): Promise<AsyncDisposable & {readonly place: LedgerPlace}> {
    const file = await this.ledgerFile(flags)
    if (file !== null) return {place: {kind: 'file', path: file}, [Symbol.asyncDispose]: async () => undefined}
    const settings = await this.settings(flags.profile)
    const choice = toLedgerChoice(flags.ledger, settings.ledger ?? null)
    if (choice.kind !== 'topic') throw new UsageError('there are no runs without a ledger')
    const own = cluster ?? (await this.connect(flags))
    const close = async (): Promise<void> => {
      if (cluster === null) await own.close()
    }
    try {
      const ledger = await this.ledgerTopic(own, choice.name, false)
      return {place: {kind: 'topic', cluster: own, ledger}, [Symbol.asyncDispose]: close}
    } catch (error) {
      try {
        if (isKdlqError(error) && error.code === 'E_NO_LEDGER') await this.refuseIfMissed(own, choice.name)
      } finally {
        await close()
      }
      throw error
    }
  }

  /** Where this machine notes its runs. */
  protected get localRuns(): string {
    return localRunsFolder(this.io.env, this.runtime.home)
  }

  /**
   * A ledger topic that is missing although this machine wrote to it is never an empty one.
   * @throws RefusedError `E_LEDGER_MISSING`
   */
  protected async refuseIfMissed(cluster: Cluster, name: string): Promise<void> {
    const {clusterId, name: clusterName} = cluster.description
    await refuseIfMissed(this.localRuns, {ledger: name, clusterId}, clusterName)
  }

  /** The ledger file that the flags name; null = the ledger is a topic. */
  protected async ledgerFile(flags: RecordFlags & LedgerPlaceFlags): Promise<string | null> {
    const archive = flags['to-archive']
    if (flags.ledger === undefined && archive !== undefined) return ledgerPath({kind: 'archive', path: archive})
    const settings = await this.settings(flags.profile)
    const choice = toLedgerChoice(flags.ledger, settings.ledger ?? null)
    return choice.kind === 'file' ? choice.path : null
  }

  /** The ledger topic of a run, made when it is missing and that is allowed. @throws as `ensureLedger` */
  protected async ledgerTopic(cluster: Cluster, name: string, create: boolean): Promise<LedgerTopic> {
    return ensureLedger(
      {cluster, clock: this.clock},
      {name, create, deliveryTimeoutMs: DELIVERY_TIMEOUT_MS},
      {signal: this.signal},
    )
  }

  /** How reading a ledger waits for other people's transactions. */
  protected readonly ledgerReads = {onWait: (blocker: Blocker): void => void this.say(waitText(blocker))}
}
