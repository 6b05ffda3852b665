import {isUtf8} from 'node:buffer'
import {DecodeFault} from '../fault.ts'
import type {DecodedValue} from '../types.ts'
import {findJsonFault, MAX_JSON_DEPTH} from './scan.ts'

/** Longest integer that becomes a bigint; turning digits into one takes quadratic time. */
const MAX_DIGITS = 100

/**
 * A JSON text as a value. Integers that a double cannot hold become bigint.
 * @throws DecodeFault with the byte and the field at which it stops being JSON
 */
export function decodeJson(bytes: Buffer): DecodedValue {
  if (!isUtf8(bytes) || openers(bytes) > MAX_JSON_DEPTH) refuseBroken(bytes)
  const text = bytes.toString('utf8')
  try {
    const value: unknown = /[0-9]{16}/.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
    if (isJson(value)) return value
    throw new DecodeFault('decode', 'not JSON')
  } catch (cause) {
    refuseBroken(bytes)
    throw new DecodeFault('decode', 'not JSON', {cause})
  }
}

/** True for bytes that begin like a JSON object or list. */
export function looksLikeJson(bytes: Buffer): boolean {
  for (const byte of bytes.subarray(0, 64)) {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue
    return byte === 0x7b || byte === 0x5b
  }
  return false
}

/** What `JSON.parse` gives is null, scalars, lists and objects of those. */
function isJson(value: unknown): value is DecodedValue {
  return value !== undefined
}

function refuseBroken(bytes: Buffer): void {
  const fault = findJsonFault(bytes)
  if (fault !== null) throw new DecodeFault('decode', fault.message, {at: fault.at, field: fault.field})
}

/** More than can be nested is only nested if there are as many openers. */
function openers(bytes: Buffer): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === 0x5b || byte === 0x7b) count += 1
  }
  return count
}

function keepDigits(_: string, value: unknown, context?: {readonly source?: string}): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value
  return /^-?[0-9]+$/.test(source) && source.length <= MAX_DIGITS ? BigInt(source) : value
}
