import {BestTable} from './best-table.ts'
import type {Rows} from './rows.ts'
import type {LedgerState} from './types.ts'

/** States that stand for a record that was, or may have been, written to its target. */
export const SENT: ReadonlySet<LedgerState> = new Set(['sending', 'replayed'])

/** Entries of replayed records by what a later dead letter has in common with them; of several the one with most attempts. */
export interface Chains {
  /** By the place that the record was written to. */
  readonly target: BestTable
  /** By the place where it failed first. */
  readonly origin: BestTable
  /** By key and value. */
  readonly sum: BestTable
}

/** Build the tables over finished rows. @param facts.size rows that count */
export function buildChains(
  rows: Rows,
  live: Iterable<number>,
  facts: {
    readonly size: number
    readonly isSent: (row: number) => boolean
    readonly isLater: (row: number, than: number) => boolean
  },
): Chains {
  const {size, isSent, isLater} = facts
  const chains: Chains = {
    target: new BestTable(
      size,
      row => rows.targetPlace[row] ?? 0,
      row => rows.targetOffset[row] ?? 0n,
    ),
    origin: new BestTable(
      size,
      row => rows.originPlace[row] ?? 0,
      row => rows.originOffset[row] ?? 0n,
    ),
    sum: new BestTable(
      size,
      () => 0,
      row => rows.sum[row] ?? 0n,
    ),
  }
  const isBetter = (row: number, than: number): boolean => {
    const difference = (rows.attempt[row] ?? 0) - (rows.attempt[than] ?? 0)
    return difference === 0 ? isLater(row, than) : difference > 0
  }
  for (const row of live) {
    if (!isSent(row)) continue
    if (rows.targetPlace[row] !== 0 && (rows.targetOffset[row] ?? -1n) >= 0n) chains.target.offer(row, isBetter)
    if (rows.originPlace[row] !== 0) chains.origin.offer(row, isBetter)
    chains.sum.offer(row, isBetter)
  }
  return chains
}
