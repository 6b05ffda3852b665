import type {Dialect, DialectReading} from '../dialect.ts'
import type {HeaderOccurrence, HeaderTable} from '../header-table.ts'
import {FAILURE_FIELDS, type FailureField, readMappedFields} from '../mapped-fields.ts'
import {nameSet} from './family-reader.ts'
import {lookAlikeOf, lookAlikes} from './generic.ts'

/** Own header names by the field of the failure that they give; several names a field. JSON as it is. */
export type HeaderMappings = Readonly<Partial<Record<FailureField, readonly string[]>>>

/**
 * The families with one more, `custom`, made of own header names. A record with a mapped origin topic or offset was
 * parked by it, whatever else is on the record; any other mapped header counts only where no known family matches.
 * Fields without a mapping are filled in from headers that look like them.
 */
export function withHeaderMappings(mappings: HeaderMappings, dialects: readonly Dialect[]): readonly Dialect[] {
  // The table has one character a byte, the configuration is UTF-8.
  const fields = FAILURE_FIELDS.flatMap(field =>
    (mappings[field] ?? []).map((name): MappedName => ({name: Buffer.from(name).toString('latin1'), field})),
  )
  if (fields.length === 0) return dialects
  const {first, last} = customDialects(fields)
  const weak = dialects.findIndex(({lastResort}) => lastResort === true)
  const at = weak === -1 ? dialects.length : weak
  return [first, ...dialects.slice(0, at), last, ...dialects.slice(at)]
}

interface MappedName {
  /** One character a byte. */
  readonly name: string
  readonly field: FailureField
}

/** The same family twice: as one that parks records, and as a last resort. */
function customDialects(fields: readonly MappedName[]): {readonly first: Dialect; readonly last: Dialect} {
  const strips = nameSet(fields.map(({name}) => name))
  const shared = {
    id: 'custom',
    stages: [],
    keepsTimestamp: false,
    strips,
    stripsOf: (_record, headers) => {
      const mapped = findMapped(headers, fields)
      return name => {
        if (strips(name)) return true
        const field = lookAlikeOf(name.toString('latin1'))
        return field !== undefined && !mapped.has(field)
      }
    },
  } as const satisfies Partial<Dialect>
  const read = (headers: HeaderTable, isMatch: (mapped: ReadonlyMap<FailureField, unknown>) => boolean) => {
    const mapped = findMapped(headers, fields)
    return isMatch(mapped) ? readCustom(headers, mapped) : null
  }
  return {
    first: {
      ...shared,
      read: (_record, headers) => read(headers, mapped => mapped.has('origin.topic') || mapped.has('origin.offset')),
    },
    last: {...shared, lastResort: true, read: (_record, headers) => read(headers, mapped => mapped.size > 0)},
  }
}

/** The latest header of each mapped field, whichever of its names it has. */
function findMapped(headers: HeaderTable, fields: readonly MappedName[]): Map<FailureField, HeaderOccurrence> {
  const found = new Map<FailureField, HeaderOccurrence>()
  for (const {name, field} of fields) {
    const occurrence = headers.last(name)
    const known = found.get(field)
    if (occurrence !== undefined && (known === undefined || known.index < occurrence.index))
      found.set(field, occurrence)
  }
  return found
}

function readCustom(headers: HeaderTable, mapped: ReadonlyMap<FailureField, HeaderOccurrence>): DialectReading {
  const guessed = [...lookAlikes(headers)].filter(([field]) => !mapped.has(field))
  const {failure, lastHeaderIndex} = readMappedFields(new Map([...mapped, ...guessed]))
  // A mapping does not say how numbers are written: both ways are right.
  const warnings = (failure.warnings ?? []).filter(warning => warning !== 'number_is_binary')
  if (guessed.length > 0) warnings.push('weak_signature')
  const {warnings: _, ...bare} = failure
  return {failure: warnings.length === 0 ? bare : {...bare, warnings}, lastHeaderIndex}
}
