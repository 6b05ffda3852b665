import {UsageError} from '../errors.ts'
import {FILTER_NAMES, isFilterName, type FilterName} from './filters/index.ts'
import {didYouMean} from '../suggest.ts'

/** Values as typed, per filter. The same filter's values are alternatives. */
export type FilterValues = {readonly [Name in FilterName]?: readonly string[]}

/**
 * Filters as data; JSON as it is (plans hold it). A record is selected when, for every filter in `include`, one of its
 * values matches, and no value in `exclude` does.
 */
export interface FilterSpec {
  readonly include: FilterValues
  readonly exclude: FilterValues
}

/** Selects everything. */
export const NO_FILTERS: FilterSpec = {include: {}, exclude: {}}

/**
 * Filters from flags.
 * @param flags values by flag name without dashes, `stage` and `not-stage`; other names are ignored
 */
export function toFilterSpec(flags: Readonly<Record<string, unknown>>): FilterSpec {
  const pick = (prefix: string): FilterValues =>
    Object.fromEntries(
      FILTER_NAMES.flatMap(name => {
        const values = flags[`${prefix}${name}`]
        return isTexts(values) && values.length > 0 ? [[name, values]] : []
      }),
    )
  return {include: pick(''), exclude: pick('not-')}
}

/**
 * Filters from a plan file.
 * @throws UsageError for another shape or an unknown filter; the values are checked by `compileFilters`
 */
export function parseFilterSpec(json: unknown): FilterSpec {
  if (!isObject(json)) throw new UsageError('filters must be an object with include and exclude')
  for (const name of Object.keys(json)) {
    if (name !== 'include' && name !== 'exclude') throw new UsageError(`unknown member '${name}' of filters`)
  }
  return {include: parseValues(json['include'], 'include'), exclude: parseValues(json['exclude'], 'exclude')}
}

function parseValues(json: unknown, where: string): FilterValues {
  if (json === undefined) return {}
  if (!isObject(json)) throw new UsageError(`filters.${where} must be an object`)
  for (const [name, values] of Object.entries(json)) {
    if (!isFilterName(name)) {
      throw new UsageError(`unknown filter '${name}' in filters.${where}`, {hints: didYouMean(name, FILTER_NAMES)})
    }
    if (!isTexts(values)) throw new UsageError(`filters.${where}.${name} must be a list of strings`)
  }
  return json
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

/** True when a `--where` looks into keys or values; the `value` of a header is none. */
export function asksForPayload({include, exclude}: FilterSpec): boolean {
  return [...(include.where ?? []), ...(exclude.where ?? [])].some(text => /(?<!\.\s*)\b(?:key|value)\b/.test(text))
}
