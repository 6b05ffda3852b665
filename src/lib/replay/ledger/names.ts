import type {SourcePartition, SourceRef} from './types.ts'

/** Stands for a topic id or cluster id that is not known. */
const UNKNOWN = '-'
const RUN = /^[A-Za-z0-9._-]{1,100}$/
const TOPIC_ID = /^[A-Za-z0-9_-]{1,64}$/
const PARTITION = /^(?:0|[1-9][0-9]{0,9})$/
const OFFSET = /^(?:0|[1-9][0-9]{0,18})$/
const INT64_MAX = 0x7fff_ffff_ffff_ffffn
const INT32_MAX = 0x7fff_ffff
/** Longest key that is looked at, characters. */
const MAX_KEY = 4096

/** Key of the layout record; it lies in partition 0. */
export const LAYOUT_KEY = 'meta|layout'

/** What a ledger key names. */
export type LedgerKey =
  | {readonly kind: 'layout'}
  | {readonly kind: 'entry'; readonly source: SourcePartition; readonly offset: bigint; readonly run: string}
  | {readonly kind: 'claim'; readonly source: SourcePartition; readonly run: string}
  /** Piece 0 is the head. */
  | {readonly kind: 'run'; readonly run: string; readonly piece: number}
  | {readonly kind: 'status'; readonly run: string}
  | {readonly kind: 'mark'; readonly run: string}

/**
 * How a source topic is named in a ledger: without cluster where both are on one cluster.
 * @param ledgerClusterId null for a file, and for a cluster that has no id
 */
export function sourceRef(
  sourceClusterId: string | null,
  ledgerClusterId: string | null,
  topicId: string | null,
): SourceRef {
  const same = ledgerClusterId !== null && sourceClusterId === ledgerClusterId
  return {clusterId: same ? null : (sourceClusterId ?? UNKNOWN), topicId}
}

/** The transactional id of a run; whoever opens it fences the run's other process. */
export function transactionalIdOf(run: string): string {
  return `kdlq-${run}`
}

/** `[CLUSTER/]TOPICID|topic:partition:offset|RUN` */
export function entryKey(source: SourcePartition, offset: bigint, run: string): string {
  return `${refText(source)}|${escapePart(source.topic)}:${source.partition}:${offset}|${run}`
}

/** `claim|[CLUSTER/]TOPICID|topic:partition|RUN` */
export function claimKey(source: SourcePartition, run: string): string {
  return `claim|${refText(source)}|${escapePart(source.topic)}:${source.partition}|${run}`
}

/** `run|RUN|n`; 0 is the head, the plan's pieces start at 1. */
export function runKey(run: string, piece: number): string {
  return `run|${run}|${piece}`
}

/** `run|RUN|status` */
export function statusKey(run: string): string {
  return `run|${run}|status`
}

/** `mark|RUN`; only in the ledger file of an archive. */
export function markKey(run: string): string {
  return `mark|${run}`
}

/** Read a key. @returns null when it is none of ours (foreign and hostile text never throws) */
export function parseLedgerKey(key: string): LedgerKey | null {
  if (key === LAYOUT_KEY) return {kind: 'layout'}
  if (key.length > MAX_KEY) return null
  const parts = key.split('|')
  const [first = '', second = '', third = '', fourth = ''] = parts
  if (first === 'run' && parts.length === 3 && RUN.test(second)) {
    if (third === 'status') return {kind: 'status', run: second}
    return isPartition(third) ? {kind: 'run', run: second, piece: Number(third)} : null
  }
  if (first === 'mark' && parts.length === 2) return RUN.test(second) ? {kind: 'mark', run: second} : null
  if (first === 'claim' && parts.length === 4 && RUN.test(fourth)) {
    const source = parseSource(second, third)
    return source === null ? null : {kind: 'claim', source, run: fourth}
  }
  if (parts.length !== 3 || !RUN.test(third)) return null
  const at = second.lastIndexOf(':')
  const offset = second.slice(at + 1)
  if (at < 0 || !isOffset(offset)) return null
  const source = parseSource(first, second.slice(0, at))
  return source === null ? null : {kind: 'entry', source, offset: BigInt(offset), run: third}
}

/** True for a decimal int64 from 0. */
export function isOffset(text: string): boolean {
  return OFFSET.test(text) && (text.length < 19 || BigInt(text) <= INT64_MAX)
}

/** `topic:partition`, unambiguous for every topic name. */
export function placeName(topic: string, partition: number): string {
  return `${escapePart(topic)}:${partition}`
}

/** Cluster and topic id as they stand in keys. */
export function refText({clusterId, topicId}: SourceRef): string {
  const id = topicId ?? UNKNOWN
  return clusterId === null ? id : `${escapePart(clusterId)}/${id}`
}

function parseSource(ref: string, place: string): SourcePartition | null {
  const slash = ref.indexOf('/')
  const topicId = ref.slice(slash + 1)
  const clusterId = slash < 0 ? null : unescapePart(ref.slice(0, slash))
  const colon = place.lastIndexOf(':')
  const topic = unescapePart(place.slice(0, Math.max(0, colon)))
  const partition = place.slice(colon + 1)
  if (!TOPIC_ID.test(topicId) || clusterId === '' || topic === null || topic === '') return null
  if ((slash >= 0 && clusterId === null) || !isPartition(partition)) return null
  return {clusterId, topicId: topicId === UNKNOWN ? null : topicId, topic, partition: Number(partition)}
}

function isPartition(text: string): boolean {
  return PARTITION.test(text) && Number(text) <= INT32_MAX
}

/** Kafka's own names stay as they are; what would break a key apart becomes %XX of its UTF-8 bytes. */
function escapePart(text: string): string {
  if (/^[A-Za-z0-9._-]+$/.test(text)) return text
  return encodeURIComponent(text.toWellFormed())
}

function unescapePart(text: string): string | null {
  if (!text.includes('%')) return /[^A-Za-z0-9._\-!~*'()]/.test(text) ? null : text
  try {
    const plain = decodeURIComponent(text)
    return escapePart(plain) === text ? plain : null
  } catch {
    return null
  }
}
