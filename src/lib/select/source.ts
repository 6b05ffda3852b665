import {isLegalTopicName, type TopicName} from '../kafka/record.ts'
import {tryParseAddress, type Address} from './address.ts'
import {badValue} from './usage.ts'

/** What of one cluster (or of one open archive) is meant. */
export type TopicSource =
  | {readonly kind: 'topic'; readonly topic: TopicName}
  /** `*` and `?` against the names of existing topics. */
  | {readonly kind: 'pattern'; readonly pattern: string}
  | {readonly kind: 'address'; readonly address: Address}
  /** Everything that is there: what an archive stands for when it is named as a source. */
  | {readonly kind: 'all'}

/** Where an archive comes from; whoever opens it then selects `{kind: 'all'}` in it. */
export type ArchiveSource =
  | {readonly kind: 'archive'; readonly path: string}
  /** Name behind `example:`, empty to list them. */
  | {readonly kind: 'example'; readonly name: string}
  | {readonly kind: 'stdin'}

export type Source = TopicSource | ArchiveSource

/** True for sources that are read without a cluster. */
export function isArchiveSource(source: Source): source is ArchiveSource {
  return source.kind === 'archive' || source.kind === 'example' || source.kind === 'stdin'
}

/**
 * One `SOURCE` argument.
 * @param deps.exists whether a file (or folder) of this path exists
 * @throws UsageError for what can be neither
 */
export function parseSource(text: string, deps: {readonly exists: (path: string) => boolean}): Source {
  if (text === '-') return {kind: 'stdin'}
  if (text.startsWith('example:')) return {kind: 'example', name: text.slice('example:'.length)}
  // A broken pattern of a Windows user: the backslash is legal in no topic name, so it can only be a path.
  if (text.includes('/') || text.includes('\\')) return {kind: 'archive', path: text}
  const isArchiveName = /\.ndjson(?:\.gz|\.zst)?$/.test(text)
  if (isArchiveName && deps.exists(text)) return {kind: 'archive', path: text}
  const address = tryParseAddress(text)
  if (address !== null) return {kind: 'address', address}
  if (/[*?]/.test(text) && /^[A-Za-z0-9._*?-]+$/.test(text)) return {kind: 'pattern', pattern: text}
  if (isLegalTopicName(text)) return {kind: 'topic', topic: text}
  throw badValue(
    'SOURCE',
    text,
    "give a topic, a pattern such as '*-dlq', topic:partition:offset, a path, example:NAME or -",
    text.includes(':') ? ['an address is topic:partition:offset, such as orders-dlq:0:42'] : [],
  )
}

/** Text that `parseSource` reads as the same source; `{kind: 'all'}` is written as the pattern `*`. */
export function formatSource(source: Source): string {
  switch (source.kind) {
    case 'topic':
      return source.topic
    case 'pattern':
      return source.pattern
    case 'address':
      return `${source.address.topic}:${source.address.partition}:${source.address.offset}`
    case 'all':
      return '*'
    case 'archive':
      return source.path
    case 'example':
      return `example:${source.name}`
    case 'stdin':
    default:
      return '-'
  }
}
