import {BugError} from '../errors.ts'
import {AtLeastOnceWriter} from './at-least-once.ts'
import type {RecordOutcome} from './chunk.ts'
import type {Delivery, RunEnd} from './delivery.ts'
import type {LedgerView} from './ledger-judge.ts'
import {sourceRef} from './ledger/names.ts'
import type {LedgerOutcome, SourcePartition} from './ledger/types.ts'
import type {ReplayPlan} from './plan.ts'
import type {ChunkWriter} from './write-chunk.ts'

/** Limits of one step of a delivery. */
export interface StepOptions {
  readonly signal?: AbortSignal | undefined
}

/** How a plan's topics are named in a ledger on this cluster. */
export function ledgerNames(plan: ReplayPlan, ledgerClusterId: string | null): LedgerView['refOf'] {
  const ids = new Map(plan.source.ranges.map(({topic, topicId}) => [topic, topicId]))
  return topic => sourceRef(plan.source.clusterId, ledgerClusterId, ids.get(topic) ?? null)
}

/** The partitions of a plan, as they are claimed. */
export function sourcePartitions(plan: ReplayPlan, refOf: LedgerView['refOf']): readonly SourcePartition[] {
  const partitions = new Map<string, SourcePartition>()
  for (const {topic, partition} of plan.source.ranges) {
    partitions.set(`${topic}:${partition}`, {...refOf(topic), topic, partition})
  }
  return [...partitions.values()]
}

/** What the deliveries with a ledger have in common, whether it is a topic or a file. */
export abstract class LedgerDelivery<W extends ChunkWriter> implements Delivery {
  protected readonly refOf: LedgerView['refOf']
  protected readonly partitions: readonly SourcePartition[]
  /** Null until it is open. */
  protected openWriter: W | null = null
  before: Delivery['before'] = []
  resolutions: Delivery['resolutions'] = new Map()

  /** @param ledgerClusterId of the cluster that holds the ledger; null = a file */
  constructor(plan: ReplayPlan, ledgerClusterId: string | null) {
    this.refOf = ledgerNames(plan, ledgerClusterId)
    this.partitions = sourcePartitions(plan, this.refOf)
  }

  get writer(): W {
    if (this.openWriter === null) throw new BugError('a delivery was used before it was open')
    return this.openWriter
  }

  async settle(outcomes: readonly RecordOutcome[], {signal}: StepOptions = {}): Promise<void> {
    if (this.openWriter instanceof AtLeastOnceWriter) await this.openWriter.settle(outcomes, signal)
  }

  abstract get view(): LedgerView
  abstract hold(outcomes: readonly LedgerOutcome[], options?: StepOptions): Promise<void>
  abstract end(end: RunEnd, options?: StepOptions): Promise<void>
  abstract [Symbol.asyncDispose](): Promise<void>
}
