import {createDeadLetter} from '../dead-letter/dead-letter.ts'
import type {PartitionScan} from '../dead-letter/model.ts'
import {scanRecords} from '../dead-letter/scan-records.ts'
import type {RecordScan} from '../dead-letter/scan-records.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {KafkaRecord} from '../kafka/record.ts'
import {compileFilters} from '../select/compile.ts'
import type {FilterDecoding} from './filter-decoding.ts'
import {dialectsUnder} from './header-policy.ts'
import {MAX_STREAMS} from './order.ts'
import {toFrozenSelection} from './plan-selection.ts'
import type {ReplayPlan} from './plan.ts'

/** Read a plan's ranges again: all side by side, or a scan a partition where they are to be merged. */
export async function openScans(
  source: Cluster,
  plan: ReplayPlan,
  options: {readonly signal: AbortSignal; readonly readRate?: number | undefined},
  decoding: FilterDecoding | null = null,
): Promise<readonly RecordScan[]> {
  const selection = toFrozenSelection(plan.source)
  const dialects = dialectsUnder(plan.headers)
  const filters = await compileFilters(plan.source.filters, {dialects, decode: decoding?.decode ?? null})
  const read = {
    ...options,
    prepare: decoding?.prepare,
    createDeadLetter: (record: KafkaRecord) => createDeadLetter(record, dialects),
  }
  const scanOf = (ranges: typeof selection.ranges): RecordScan =>
    scanRecords(source, {...selection, ranges}, filters, {...read, order: 'arrival'})
  if (plan.order === 'dlq') return [scanOf(selection.ranges)]
  const byPartition = [...Map.groupBy(selection.ranges, ({topic, partition}) => `${topic}:${partition}`).values()]
  const streams = Math.min(byPartition.length, MAX_STREAMS)
  return Array.from({length: streams}, (_, stream) =>
    scanOf(byPartition.filter((_range, index) => index % streams === stream).flat()),
  )
}

/** How far several scans came, by topic, partition, offset. */
export function scannedOf(scans: readonly RecordScan[]): readonly PartitionScan[] {
  return scans
    .flatMap(scan => scan.scanned())
    .toSorted((a, b) => {
      if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1
      return a.partition - b.partition || (BigInt(a.from) < BigInt(b.from) ? -1 : 1)
    })
}
