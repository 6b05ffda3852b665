import {readFile} from 'node:fs/promises'
import type {Clock} from '../clock.ts'
import {expectedFormats} from '../dead-letter/expected-format.ts'
import type {DeadLetter} from '../dead-letter/model.ts'
import {compileRedaction, type Redaction} from '../dead-letter/redact.ts'
import {type DecodedJson, type DecodedPairJson, decodedToJson, pairToJson} from '../render/decoded-json.ts'
import {otherBytes} from '../render/payload.ts'
import {
  createDecoders,
  createRegistryStore,
  type DecodedRecord,
  type Decoders,
  type Part,
  parseDecodeFormats,
  type Payloads,
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
  /** As `prepare`, for what `toJson` will decode. */
  prepareWhole(deadLetter: DeadLetter): Promise<void> | undefined
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
  const mask = <Pair extends DecodedPairJson>(json: Pair): Pair => {
    const shown = (part: Part): unknown => (redaction === null ? json[part] : redaction.decoded(part, json[part]))
    return {...json, key: shown('key'), value: shown('value')}
  }
  const decodeWhole = (deadLetter: DeadLetter): DecodedJson => {
    const {record, failure} = deadLetter
    const topics = [failure.origin?.topic, failure.last?.topic, record.topic].filter(topic => topic !== undefined)
    const original = originalOf(deadLetter)
    // The reader that failed had the original before it.
    const expect = expectedFormats(failure)
    const json = mask(
      decodedToJson(decoders.decode(record, original === null ? {topics, expect} : {topics}), record.headers),
    )
    return original === null ? json : {...json, original: mask(pairToJson(decoders.decode(original, {topics, expect})))}
  }
  // A row asks once a column.
  let last: {readonly deadLetter: DeadLetter; readonly json: DecodedJson} | null = null
  return {
    prepare: ({record}) => decoders.prepare(record),
    prepareWhole: deadLetter => {
      const original = originalOf(deadLetter)
      const first = decoders.prepare(deadLetter.record)
      const second = original === null ? undefined : decoders.prepare(original)
      return first === undefined || second === undefined ? (first ?? second) : first.then(async () => second)
    },
    decode: ({record}) => decoders.decode(record),
    toJson: deadLetter => {
      if (last?.deadLetter === deadLetter) return last.json
      last = {deadLetter, json: decodeWhole(deadLetter)}
      return last.json
    },
    get troubles() {
      return decoders.troubles.map(({message}) => message)
    },
  }
}

/** The payloads that failed first, where the record holds them elsewhere; null where they are its own. */
function originalOf({record, failure}: DeadLetter): Payloads | null {
  const key = otherBytes(failure.rawKey, record.key)
  const value = otherBytes(failure.rawValue, record.value)
  if (key === null && value === null) return null
  const headers = failure.rawHeaders?.map(([name, hex]) => ({
    name: Buffer.from(name),
    value: hex === null ? null : Buffer.from(hex, 'hex'),
  }))
  return {key: key ?? record.key, value: value ?? record.value, headers: headers ?? record.headers}
}
