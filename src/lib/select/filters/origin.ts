import {createGlob} from '../glob.ts'
import {badValue, parseUint31, parseUint63} from '../usage.ts'
import type {FilterDefinition} from './filter.ts'

/** Where a record failed first; the end of `FROM..TO` belongs to it. Null = any. */
export interface OriginPattern {
  /** Name or glob. */
  readonly topic: string
  readonly partition: number | null
  readonly offsets: {readonly from: bigint; readonly to: bigint} | null
}

/**
 * `TOPIC[:PARTITION[:OFFSET|FROM..TO]]`.
 * @throws UsageError naming the flag
 */
export function parseOrigin(text: string, flag: string): OriginPattern {
  const match = /^([A-Za-z0-9._*?-]{1,249})(?::([0-9]+)(?::([0-9]+)(?:\.\.([0-9]+))?)?)?$/.exec(text)
  const allowed = 'give TOPIC, TOPIC:PARTITION, TOPIC:PARTITION:OFFSET or TOPIC:PARTITION:FROM..TO'
  if (match === null) throw badValue(flag, text, allowed)
  const [, topic = '', partitionText, fromText, toText] = match
  const partition = partitionText === undefined ? null : parseUint31(partitionText)
  const from = fromText === undefined ? null : parseUint63(fromText)
  const to = toText === undefined ? from : parseUint63(toText)
  const tooLarge =
    (partitionText !== undefined && partition === null) || (fromText !== undefined && (from === null || to === null))
  if (tooLarge) throw badValue(flag, text, `${allowed}; a number is too large`)
  if (from === null || to === null) return {topic, partition, offsets: null}
  if (to < from) throw badValue(flag, text, 'a range goes up')
  return {topic, partition, offsets: {from, to}}
}

/** Text that `parseOrigin` reads as the same pattern. */
export function formatOrigin({topic, partition, offsets}: OriginPattern): string {
  if (partition === null) return topic
  if (offsets === null) return `${topic}:${partition}`
  return `${topic}:${partition}:${offsets.from === offsets.to ? offsets.from : `${offsets.from}..${offsets.to}`}`
}

export const originFilter: FilterDefinition = {
  summary: 'Where the record failed first: topic, partition, offset or offsets.',
  placeholder: 'TOPIC[:PARTITION[:OFFSET|FROM..TO]]',
  compile(text, {flag}) {
    const {topic, partition, offsets} = parseOrigin(text, flag)
    const glob = createGlob(topic)
    return {
      matches: ({failure: {origin}}) => {
        if (origin?.topic === undefined || !glob.matches(origin.topic)) return false
        if (partition !== null && origin.partition !== partition) return false
        if (offsets === null) return true
        const offset = parseUint63(origin.offset ?? '')
        return offset !== null && offsets.from <= offset && offset <= offsets.to
      },
      peek: null,
    }
  },
}
