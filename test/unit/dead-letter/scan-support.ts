import {freezeSelection} from '../../../src/lib/dead-letter/freeze.ts'
import type {ScanOptions} from '../../../src/lib/dead-letter/scan-records.ts'
import {scanDeadLetters} from '../../../src/lib/dead-letter/scan.ts'
import type {DeadLetter, PartitionScan} from '../../../src/lib/dead-letter/model.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {compileFilters} from '../../../src/lib/select/compile.ts'
import {selectAll} from '../../../src/lib/select/selection.ts'
import type {FrozenSelection, Selection} from '../../../src/lib/select/selection.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {recordWith} from '../../support/records.ts'
import type {Log, ScanCluster} from './scan-cluster.ts'

export const NOW = 1_764_500_000_000n

export function records(
  from: number,
  count: number,
  other: (offset: number) => Partial<KafkaRecord> = () => ({}),
): KafkaRecord[] {
  return Array.from({length: count}, (_, index) => {
    const offset = from + index
    return recordWith([], {
      offset: BigInt(offset),
      key: Buffer.from(`k-${offset}`),
      timestamp: NOW + BigInt(offset),
      ...other(offset),
    })
  })
}

/** A log in batches of `size`. */
export function log(count: number, size = 10, from = 0): Log {
  const parts = []
  for (let at = 0; at < count; at += size) parts.push({records: records(from + at, Math.min(size, count - at))})
  return {parts}
}

export async function freeze(cluster: ScanCluster, other: Partial<Selection> = {}): Promise<FrozenSelection> {
  const selection = {...selectAll([{kind: 'pattern', pattern: '*'}]), ...other}
  const clock = new FakeClock({now: Number(NOW)})
  return freezeSelection(cluster.cluster, selection, {clock, readBaseline: () => Promise.resolve([])})
}

export interface Result {
  readonly letters: readonly DeadLetter[]
  readonly addresses: readonly string[]
  readonly scanned: readonly PartitionScan[]
}

export async function scan(
  cluster: ScanCluster,
  other: Partial<Selection> = {},
  options: ScanOptions = {},
): Promise<Result> {
  const frozen = await freeze(cluster, other)
  const run = scanDeadLetters(cluster.cluster, frozen, await compileFilters(frozen.filters), options)
  const letters: DeadLetter[] = []
  for await (const letter of run) letters.push(letter)
  return {letters, addresses: letters.map(({address}) => address), scanned: run.scanned()}
}

export const include = (values: Selection['filters']['include']): Partial<Selection> => ({
  filters: {include: values, exclude: {}},
})
