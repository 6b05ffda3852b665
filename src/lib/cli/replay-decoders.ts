import {readFile} from 'node:fs/promises'
import type {Clock} from '../clock.ts'
import {UsageError} from '../errors.ts'
import {certainlyNeedsRegistry, decodeTexts} from '../replay/plan-decoding.ts'
import type {DecodeRule} from '../replay/plan.ts'
import {asksForPayload, type FilterSpec} from '../select/filter-spec.ts'
import {
  createDecoders,
  createRegistryStore,
  type Decoders,
  formatDecodeFormat,
  parseAskedFormats,
  parseDecodeFormats,
} from '../serde/index.ts'
import type {EffectiveSettings} from './config/settings.ts'
import type {ConnectionFlags} from './connection.ts'
import type {DecodeFlags} from './decode-flags.ts'
import type {Environment} from './io.ts'
import {registryConfig} from './schema-registry.ts'

/** What a plan has to decode; undefined = nothing. @throws UsageError for a format that there is not */
export function toDecodeRule({decode}: DecodeFlags, filters: FilterSpec): DecodeRule | undefined {
  if (decode === undefined && !asksForPayload(filters)) return undefined
  const {key, value} = parseAskedFormats(decode ?? [])
  return {
    ...(key === undefined ? {} : {key: formatDecodeFormat(key)}),
    ...(value === undefined ? {} : {value: formatDecodeFormat(value)}),
  }
}

/**
 * Decoders for a plan that is made (`registry` absent) or executed.
 * @throws UsageError `E_NO_REGISTRY` when the plan needs a registry and none is named, and for a schema file that cannot be
 *   used; ConfigError for a broken profile
 */
export async function openReplayDecoders(
  decode: DecodeRule & {readonly registry?: boolean},
  flags: Pick<ConnectionFlags, 'schema-registry' | 'timeout'>,
  settings: EffectiveSettings,
  deps: {readonly env: Environment; readonly clock: Clock; readonly signal: AbortSignal},
): Promise<Decoders> {
  // A plan that was made without schemas would select other records with them.
  const config = decode.registry === false ? null : await registryConfig(flags, settings, deps.env)
  const isNeeded = decode.registry === true || certainlyNeedsRegistry(decode)
  if (isNeeded && config === null) {
    throw new UsageError('the plan decodes with schemas of a registry, and no schema registry is named', {
      code: 'E_NO_REGISTRY',
      hints: ['name it with --schema-registry URL, or as schemaRegistry in the profile'],
    })
  }
  const store = createRegistryStore(config, deps, {signal: deps.signal})
  return createDecoders({store, readFile: path => readFile(path, 'utf8')}, parseDecodeFormats(decodeTexts(decode)))
}
