import type {KdlqError} from '../errors.ts'
import type {RecordOutcome} from './chunk.ts'
import type {LedgerView} from './ledger-judge.ts'
import type {RunEntry} from './ledger/index-table.ts'
import type {LedgerOutcome, LedgerRunStatus} from './ledger/types.ts'
import type {Resolution} from './resolve-sending.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** `transaction.timeout.ms`: what a killed run stalls read_committed readers of its targets, ms. */
export const TRANSACTION_TIMEOUT_MS = 15_000

/** How a run ended, as its ledger keeps it. */
export type RunEnd = Pick<LedgerRunStatus, 'state' | 'reason' | 'counts' | 'metrics'>

/** How one run writes, and what was there before. Open while the run lasts; its claims are then held. */
export interface Delivery extends AsyncDisposable {
  readonly writer: ChunkWriter
  /** What the ledger knew when the run began; null = no ledger. */
  readonly view: LedgerView | null
  /** What earlier processes of this run did; empty for a new run. */
  readonly before: readonly RunEntry[]
  /** What became of records that an earlier process left `sending`, by address; empty with transactions. */
  readonly resolutions: ReadonlyMap<string, Resolution>
  /** Write down what `resolutions` found. */
  settle(outcomes: readonly RecordOutcome[], options?: {readonly signal?: AbortSignal | undefined}): Promise<void>
  /** Write down dead letters that stay where they are, so that the next run does not look at them again. */
  hold(outcomes: readonly LedgerOutcome[], options?: {readonly signal?: AbortSignal | undefined}): Promise<void>
  /** Write down how the run stands, and give its claims back. @throws KdlqError when the ledger cannot be written */
  end(end: RunEnd, options?: {readonly signal?: AbortSignal | undefined}): Promise<void>
}

/** Opens the delivery of one run, before anything is sent. */
export type OpenDelivery = (options: {readonly signal?: AbortSignal | undefined}) => Promise<Delivery>

/** Things that a person is told while a run goes on. */
export interface DeliveryNotes {
  /** A session was lost; another one is opened and the ledger decides what is left. */
  readonly onLost?: ((error: KdlqError) => void) | undefined
  /** Something about this run that a person has to know. */
  readonly onNote?: ((text: string) => void) | undefined
}

/** A delivery without a ledger: nothing is known before, nothing is kept. */
export function withoutLedger(writer: ChunkWriter): Delivery {
  return {
    writer,
    view: null,
    before: [],
    resolutions: new Map(),
    settle: async () => undefined,
    hold: async () => undefined,
    end: async () => undefined,
    [Symbol.asyncDispose]: async () => writer[Symbol.asyncDispose](),
  }
}
