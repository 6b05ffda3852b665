import type {Dialect} from '../dialects/dialect.ts'
import {type HeaderMappings, withHeaderMappings} from '../dialects/families/custom.ts'
import {DIALECTS} from '../dialects/registry.ts'
import type {RecordHeader} from '../kafka/record.ts'
import {isProvenanceName} from './provenance.ts'

/** What happens to headers at a replay, as data (part of the plan). */
export interface HeaderPolicy {
  /** Remove what the dialects of the failure added. */
  readonly strip: boolean
  /** Kept though a dialect would strip them; names, `*` stands for anything. */
  readonly keep: readonly string[]
  /** Removed though nothing strips them; names, `*` stands for anything. Wins over keep. */
  readonly drop: readonly string[]
  /** Set by the caller: removes what the record has under the name, appends this one. */
  readonly set: readonly {readonly name: string; readonly value: string}[]
  /** Own header names that tell of the failure, and go with what the dialects added; absent = none. */
  readonly mappings?: HeaderMappings
  /** Append `kdlq.replay`. An old one goes in any case. */
  readonly provenance: boolean
}

/** Does nothing but strip and mark: what a replay does when nothing else was asked for. */
export const DEFAULT_HEADER_POLICY: HeaderPolicy = {strip: true, keep: [], drop: [], set: [], provenance: true}

/** The header families that are read and stripped under a policy. */
export function dialectsUnder({mappings = {}}: HeaderPolicy): readonly Dialect[] {
  return withHeaderMappings(mappings, DIALECTS)
}

/** Decides by name, and by position among the record's headers, whether a header is removed. */
export type DropByName = (name: Buffer, index: number) => boolean

/**
 * Compile a policy.
 * @returns for what the dialects on a record strip (`headerStripper`), the test that says which header names go
 */
export function compileHeaderPolicy(policy: HeaderPolicy): (strips: DropByName) => DropByName {
  const drop = policy.drop.map(namePattern)
  const keep = policy.keep.map(namePattern)
  const set = policy.set.map(({name}) => Buffer.from(name))
  return strips => (name, index) =>
    isProvenanceName(name) ||
    set.some(own => own.equals(name)) ||
    drop.some(matches => matches(name)) ||
    (policy.strip && strips(name, index) && !keep.some(matches => matches(name)))
}

/** Headers that the policy itself appends (without provenance), in order. */
export function setHeaders(policy: HeaderPolicy): readonly RecordHeader[] {
  return policy.set.map(({name, value}) => ({name: Buffer.from(name), value: Buffer.from(value)}))
}

/** A name, compared as bytes; `*` stands for any bytes, also none. */
function namePattern(pattern: string): (name: Buffer) => boolean {
  const parts = pattern.split('*').map(part => Buffer.from(part))
  const first = parts[0] ?? Buffer.alloc(0)
  const last = parts.at(-1) ?? first
  if (parts.length === 1) return name => name.equals(first)
  return name => {
    if (name.length < first.length + last.length) return false
    if (!name.subarray(0, first.length).equals(first)) return false
    if (!name.subarray(name.length - last.length).equals(last)) return false
    let at = first.length
    const end = name.length - last.length
    for (const part of parts.slice(1, -1)) {
      const found = name.subarray(0, end).indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return true
  }
}
