import type {Dialect, DialectReading} from '../dialect.ts'
import {FamilyReader, nameSet} from './family-reader.ts'
import type {HeaderTable} from '../header-table.ts'

/** Newer releases write `source_`, those before 2.5 `original_`. */
const PREFIXES = ['source_', 'original_'] as const
const SIGNATURE = ['topic', 'partition', 'offset', 'consumer_group']
const NAMES = [...SIGNATURE, 'attempts', 'trace_id', 'key']

/**
 * Dead letters of Karafka Pro (Ruby) 2.1 and later: one map of headers, so that a second failure overwrites the first.
 * The four coordinate names alone also stand on healthy records that were piped.
 */
export const karafka: Dialect = {
  id: 'karafka',
  stages: [],
  keepsTimestamp: false,
  strips: nameSet(PREFIXES.flatMap(prefix => NAMES.map(name => prefix + name))),
  // The names under the other prefix are the application's.
  stripsOf: (_record, headers) => {
    const prefix = matchedPrefix(headers)
    return nameSet(prefix === undefined ? [] : NAMES.map(name => prefix + name))
  },
  read: (_record, headers) => {
    const prefix = matchedPrefix(headers)
    return prefix === undefined ? null : readKarafka(headers, prefix)
  },
}

function matchedPrefix(headers: HeaderTable): string | undefined {
  return PREFIXES.find(prefix => SIGNATURE.every(name => headers.has(prefix + name)))
}

function readKarafka(headers: HeaderTable, prefix: string): DialectReading {
  const reader = new FamilyReader(headers)
  reader.set(
    'origin',
    reader.coordinates({topic: `${prefix}topic`, partition: `${prefix}partition`, offset: `${prefix}offset`}, 'last'),
  )
  reader.set('group', reader.text(`${prefix}consumer_group`))
  const isDead = ['attempts', 'trace_id', 'key'].some(name => headers.has(prefix + name))
  if (!isDead) reader.warn('maybe_piped_not_dead')
  reader.set('attempts', reader.int32(`${prefix}attempts`))
  reader.set('traceId', reader.text(`${prefix}trace_id`))
  // 2.4 routed by the partition number as the key and kept the real key here.
  if (prefix === 'original_') reader.set('rawKey', reader.bytes('original_key')?.toString('hex'))
  return reader.finish(NAMES.map(name => prefix + name))
}
