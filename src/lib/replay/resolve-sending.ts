import {UnreachableError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import {formatAddress} from '../kafka/record.ts'
import type {RecordHeader} from '../kafka/record.ts'
import {recordsIn} from '../kafka/records/records-in.ts'
import type {LedgerIndex, RunEntry} from './ledger/index-table.ts'
import {placeName} from './ledger/names.ts'
import {parkedBy} from './parked-copy.ts'
import type {ReplayPlan} from './plan.ts'
import {isProvenanceName, parseProvenance} from './provenance.ts'

/** What became of a record that an earlier process of a run was about to send. */
export type Resolution =
  | {
      readonly kind: 'found'
      readonly target: {readonly topic: string; readonly partition: number; readonly offset: bigint}
    }
  /** All that was written since is there to be read, and it is not among it. */
  | {readonly kind: 'absent'}
  /** Cannot be told. */
  | {readonly kind: 'unknown'}

interface Search {
  readonly topic: string
  readonly partition: number
  readonly from: bigint
}

/**
 * Resolve records that a run left `sending`: their target partitions are read from where they ended then, for this run's
 * provenance header. Without that header, in a compacted target, and where the target has lost records since, what is not
 * found stays unknown.
 * @returns by the address of the dead letter
 * @throws KdlqError when the target cannot be read
 */
export async function resolveSending(
  target: Pick<Cluster, 'reader'>,
  index: LedgerIndex,
  {run, plan}: {readonly run: string; readonly plan: ReplayPlan},
  {signal}: {readonly signal?: AbortSignal | undefined} = {},
): Promise<ReadonlyMap<string, Resolution>> {
  const resolutions = new Map<string, Resolution>()
  const open = [...index.entriesOfRun(run)].filter(({state}) => state === 'sending')
  if (open.length === 0) return resolutions
  const parking = plan.parking?.topic ?? null
  // A parked copy names run and dead letter in any case.
  const marked = open.filter(entry => plan.headers.provenance || entry.target?.topic === parking)
  const {found, whole} = await search(target, searchesOf(marked, index, run), {run, parking}, signal)
  const topics = plan.parking === null ? plan.target.topics : [...plan.target.topics, plan.parking]
  const compacted = new Set(
    topics.filter(({cleanupPolicy}) => cleanupPolicy?.includes('compact') === true).map(({topic}) => topic),
  )
  for (const {source, target: place} of open) {
    const address = formatAddress(source)
    const hit = found.get(address)
    if (hit !== undefined) resolutions.set(address, {kind: 'found', target: hit})
    else {
      const told = place !== null && whole.has(placeName(place.topic, place.partition)) && !compacted.has(place.topic)
      resolutions.set(address, {kind: told ? 'absent' : 'unknown'})
    }
  }
  return resolutions
}

/** Where to read from, by target partition. */
function searchesOf(open: readonly RunEntry[], index: LedgerIndex, run: string): ReadonlyMap<string, Search> {
  const searches = new Map<string, Search>()
  for (const {source, target} of open) {
    const from = index.scanFrom(run, source)
    if (target === null || from === null) continue
    const name = placeName(target.topic, target.partition)
    const known = searches.get(name)
    if (known === undefined || from < known.from) {
      searches.set(name, {topic: target.topic, partition: target.partition, from})
    }
  }
  return searches
}

/** @returns what was found by the address of its dead letter, and the partitions that were there from start to end */
async function search(
  {reader}: Pick<Cluster, 'reader'>,
  searches: ReadonlyMap<string, Search>,
  {run, parking}: {readonly run: string; readonly parking: string | null},
  signal: AbortSignal | undefined,
): Promise<{
  readonly found: ReadonlyMap<string, {topic: string; partition: number; offset: bigint}>
  readonly whole: ReadonlySet<string>
}> {
  const places = [...searches.values()]
  const found = new Map<string, {topic: string; partition: number; offset: bigint}>()
  const whole = new Set<string>()
  if (places.length === 0) return {found, whole}
  const [starts, ends] = await Promise.all(
    (['earliest', 'latest'] as const).map(async at =>
      reader.offsets(
        places.map(({topic, partition}) => ({topic, partition, at})),
        {signal},
      ),
    ),
  )
  const ranges = places.flatMap(({topic, partition, from}, index) => {
    const start = starts?.[index]?.offset ?? null
    const to = ends?.[index]?.offset ?? null
    if (start === null || to === null) {
      throw ends?.[index]?.error ?? new UnreachableError(`the offsets of ${topic}:${partition} are not known`)
    }
    if (start <= from && from <= to) whole.add(placeName(topic, partition))
    return to > from ? [{topic, partition, from, to}] : []
  })
  if (ranges.length === 0) return {found, whole}
  const request = {ranges, isolationLevel: 'read_uncommitted', order: 'arrival'} as const
  for await (const block of reader.read(request, {signal})) {
    const {topic, partition} = block
    if (block.notices.some(({kind}) => kind !== 'gap')) whole.delete(placeName(topic, partition))
    for (const cursor of recordsIn(block)) {
      const {headers} = cursor.toRecord(topic, partition)
      for (const deadLetter of topic === parking ? parkedIn(headers, run) : sentIn(headers, run)) {
        found.set(deadLetter, {topic, partition, offset: cursor.offset})
      }
    }
  }
  return {found, whole}
}

/** The dead letter that a run sent as this record. */
function sentIn(headers: readonly RecordHeader[], run: string): readonly string[] {
  return headers.flatMap(({name, value}) => {
    const provenance = isProvenanceName(name) ? parseProvenance(value) : null
    return provenance?.run === run ? [provenance.deadLetter] : []
  })
}

/** The dead letter that a run parked as this record. */
function parkedIn(headers: readonly RecordHeader[], run: string): readonly string[] {
  const parked = parkedBy(headers)
  return parked?.run === run ? [parked.deadLetter] : []
}
