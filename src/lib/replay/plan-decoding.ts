import {UsageError} from '../errors.ts'
import type {Decoders, DecodeProblem, Part, Payloads} from '../serde/index.ts'
import {isTransient, needsRegistry, parseAskedFormats} from '../serde/index.ts'
import type {Outgoing} from './outgoing.ts'
import type {DecodeRule, PlanDecode} from './plan.ts'

/** How a plan's keys and values are read. */
export interface PlanReading {
  readonly decode: DecodeRule
  readonly decoders: Decoders
}

/** What has to be readable, in Connect's order. */
export function partsOf({key, value}: DecodeRule): readonly Part[] {
  return [...(key === undefined ? [] : ['key' as const]), ...(value === undefined ? [] : ['value' as const])]
}

/** True when payloads of these formats cannot be read without a registry. @throws UsageError for a format that there is not */
export function certainlyNeedsRegistry(decode: DecodeRule): boolean {
  return Object.values(parseAskedFormats(decodeTexts(decode))).some(format => needsRegistry(format))
}

/** The formats of a plan as `--decode` takes them. */
export function decodeTexts(decode: DecodeRule): readonly string[] {
  return partsOf(decode).map(part => `${part}=${decode[part] ?? ''}`)
}

/**
 * The decoders that a plan needs; null = none.
 * @throws UsageError `E_NO_DECODERS` when they are needed and were not given
 */
export function decodersOf(
  {decode}: {readonly decode?: DecodeRule | undefined},
  decoders: Decoders | null | undefined,
): PlanReading | null {
  if (decode === undefined) return null
  if (decoders !== null && decoders !== undefined) return {decode, decoders}
  throw new UsageError('the plan reads keys and values, and nothing was given that can', {code: 'E_NO_DECODERS'})
}

/** What a plan remembers of how it read. */
export function toPlanDecode({decode, decoders}: PlanReading): PlanDecode {
  return {...decode, registry: decoders.hasAsked || certainlyNeedsRegistry(decode)}
}

/**
 * Why what goes out cannot be read as asked; null = it can. Waits for schemas.
 * @param onUnknown told when the registry does not answer, which says nothing about the record
 * @throws the signal's reason
 */
export async function whyUnreadable(
  {decode, decoders}: PlanReading,
  outgoing: Outgoing,
  onUnknown: (reason: string) => void,
): Promise<string | null> {
  const payloads = payloadsOf(outgoing)
  for (const part of partsOf(decode)) {
    await decoders.preparePart(part, payloads)
    const {error} = decoders.decodePart(part, payloads)
    if (error === undefined) continue
    const text = problemText(decode, part, error)
    if (!isTransient(error)) return text
    onUnknown(text)
  }
  return null
}

/** What goes out, to be read. */
export function payloadsOf(outgoing: Outgoing): Payloads {
  return {key: outgoing.key, value: outgoing.value, headers: outgoing.headers()}
}

/** In a line, with the place. */
export function problemText(decode: DecodeRule, part: Part, {message, at, field, step}: DecodeProblem): string {
  const place = [at === undefined ? [] : [`at byte ${at}`], field === undefined ? [] : [`reading ${field}`]].flat()
  const where = place.length === 0 ? '' : ` ${place.join(', ')}`
  const what = step === 'validate' ? 'does not obey its schema' : `cannot be read as ${decode[part] ?? 'auto'}`
  return `${part} ${what}${where}: ${message}`
}
