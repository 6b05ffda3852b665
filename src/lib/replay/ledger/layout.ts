import {partitionForKey} from '../murmur2.ts'
import type {LedgerTopic} from './types.ts'

/**
 * The ledger partition of a route: a dead letter topic's name, a run id, or null for the layout.
 * @see Kafka's DefaultPartitioner for the hash
 */
export function ledgerPartition(ledger: Pick<LedgerTopic, 'partitions'>, route: string | null): number {
  return route === null ? 0 : partitionForKey(Buffer.from(route), ledger.partitions)
}

/** Ledger partitions of several routes, ascending, each once. */
export function ledgerPartitions(ledger: Pick<LedgerTopic, 'partitions'>, routes: Iterable<string>): readonly number[] {
  const partitions = new Set<number>()
  for (const route of routes) partitions.add(ledgerPartition(ledger, route))
  return [...partitions].toSorted((a, b) => a - b)
}

/** All of its partitions. */
export function allPartitions({partitions}: Pick<LedgerTopic, 'partitions'>): readonly number[] {
  return Array.from({length: partitions}, (_, partition) => partition)
}
