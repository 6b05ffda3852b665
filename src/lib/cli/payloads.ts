import {readFile} from 'node:fs/promises'
import type {Clock} from '../clock.ts'
import {expectedFormats} from '../dead-letter/expected-format.ts'
import type {DeadLetter} from '../dead-letter/model.ts'
import {compileRedaction, type Redaction} from '../dead-letter/redact.ts'
import {type DecodedJson, decodedToJson} from '../render/decoded-json.ts'
import type {FilterSpec} from '../select/filter-spec.ts'
import {
  createDecoders,
  createRegistryStore,
  type DecodedRecord,
  type Decoders,
  type Part,
  parseDecodeFormats,
} from '../serde/index.ts'
import {asList, type EffectiveSettings} from './config/settings.ts'
import type {ConnectionFlags} from './connection.ts'
import type {DecodeFlags} from './decode-flags.ts'
import type {Environment} from './io.ts'
import {registryConfig} from './schema-registry.ts'

/** Keys and values of one run, decoded. */
export interface PayloadReader {
  /** Asks for the schemas of a record; undefined when none is needed. @throws the signal's reason */
  prepare(deadLetter: Pick<DeadLetter, 'record'>): Promise<void> | undefined
  /** The values alone, for filters. */
  decode(deadLetter: Pick<DeadLetter, 'record'>): DecodedRecord
  /** As it may be shown, with what the failure says about it. */
  toJson(deadLetter: DeadLetter): DecodedJson
  /** What to warn of: problems of the registry as a whole. */
  readonly troubles: readonly string[]
}

/** @throws UsageError for a broken --decode, --schema-registry or schema file; ConfigError for a broken profile */
export async function openPayloads(
  flags: DecodeFlags & Pick<ConnectionFlags, 'schema-registry' | 'timeout'>,
  settings: EffectiveSettings,
  deps: {readonly env: Environment; readonly clock: Clock; readonly signal: AbortSignal},
): Promise<PayloadReader> {
  const formats = parseDecodeFormats(flags.decode ?? [])
  const store = createRegistryStore(await registryConfig(flags, settings, deps.env), deps, {signal: deps.signal})
  const decoders = await createDecoders({store, readFile: path => readFile(path, 'utf8')}, formats)
  return payloadReader(decoders, compileRedaction(asList(settings.redact)))
}

function payloadReader(decoders: Decoders, redaction: Redaction | null): PayloadReader {
  const decodeWhole = (deadLetter: DeadLetter): DecodedRecord => {
    const {record, failure} = deadLetter
    const topics = [failure.origin?.topic, failure.last?.topic, record.topic].filter(topic => topic !== undefined)
    return decoders.decode(record, {topics, expect: expectedFormats(failure)})
  }
  // A row asks once a column.
  let last: {readonly deadLetter: DeadLetter; readonly json: DecodedJson} | null = null
  return {
    prepare: ({record}) => decoders.prepare(record),
    decode: ({record}) => decoders.decode(record),
    toJson: deadLetter => {
      if (last?.deadLetter === deadLetter) return last.json
      const json = decodedToJson(decodeWhole(deadLetter), deadLetter.record.headers)
      const shown = (part: Part): unknown => (redaction === null ? json[part] : redaction.decoded(part, json[part]))
      last = {deadLetter, json: {...json, key: shown('key'), value: shown('value')}}
      return last.json
    },
    get troubles() {
      return decoders.troubles.map(({message}) => message)
    },
  }
}

/** True when a `--where` looks into keys or values. */
export function asksForPayload({include, exclude}: FilterSpec): boolean {
  return [...(include.where ?? []), ...(exclude.where ?? [])].some(text => /\b(?:key|value)\b/.test(text))
}
