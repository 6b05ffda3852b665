import {Budget, MAX_DEPTH} from '../budget.ts'
import {DecodeFault} from '../fault.ts'
import {createObject, type DecodedObject} from '../objects.ts'
import {formatPath} from '../path.ts'
import type {DecodedValue} from '../types.ts'
import {firstInvalidUtf8} from '../utf8.ts'

const SCALARS = [
  'int32',
  'uint32',
  'sint32',
  'int64',
  'uint64',
  'sint64',
  'bool',
  'fixed32',
  'sfixed32',
  'float',
  'fixed64',
  'sfixed64',
  'double',
  'string',
  'bytes',
] as const
/** Scalar types of Protobuf. */
export type ScalarName = (typeof SCALARS)[number]

/** @throws TypeError for a type that is neither a scalar nor defined anywhere */
export function scalarOf(name: string): ScalarName {
  const scalar = SCALARS.find(known => known === name)
  if (scalar === undefined) throw new TypeError(`no such type: ${name}`)
  return scalar
}

/** What one value of a field is. */
export type FieldType =
  | {readonly kind: 'scalar'; readonly name: ScalarName}
  | {readonly kind: 'enum'; readonly names: ReadonlyMap<number, string>}
  | {readonly kind: 'message'; readonly node: () => MessageNode}

/** A field of a message, ready to read. */
export interface FieldNode {
  readonly name: string
  /** Of a map; null for other fields. */
  readonly keyType: ScalarName | null
  readonly repeated: boolean
  /** Absent means the default value: proto3 without `optional`. */
  readonly hasDefault: boolean
  readonly type: FieldType
}

/** A message type; may be part of itself. */
export interface MessageNode {
  readonly fields: Map<number, FieldNode>
}

const [VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32] = [0, 1, 2, 3, 4, 5]
const toInt32 = (value: bigint): number => Number(BigInt.asIntN(32, value))

/**
 * A message in Protobuf's binary form. 64-bit integers are bigint; fields that are not there have their default value where
 * the schema gives them one; fields that the schema does not know, or has with another wire type, are left out.
 * @param start first byte of the message, which takes all bytes to the end
 * @throws DecodeFault with the byte at which it stops making sense, and the field that was being read
 */
export function decodeMessage(root: MessageNode, bytes: Buffer, start: number): DecodedValue {
  return new MessageReader(bytes, start).message(root, bytes.length, null)
}

class MessageReader {
  readonly #bytes: Buffer
  readonly #path: (string | number)[] = []
  readonly #budget: Budget
  #at: number
  #depth = 0

  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes
    this.#at = start
    this.#budget = new Budget(bytes.length - start)
  }

  /** @param group number of the group that has to end; null = ends at `end` */
  message(node: MessageNode, end: number, group: number | null): DecodedObject {
    this.#enter()
    const draft = new Draft(node)
    for (;;) {
      if (this.#at >= end) {
        if (group !== null) this.#fail('the bytes end inside a group')
        break
      }
      const at = this.#at
      const tag = this.#varint(end, 'a field number')
      const number = Number(tag >> 3n)
      const wire = Number(tag & 7n)
      if (wire === END_GROUP) {
        if (number !== group) this.#fail('a group ends that did not begin', at)
        break
      }
      if (number === 0 || number > 0x1fff_ffff) this.#fail(`there is no field number ${number}`, at)
      this.#budget.spend(at)
      const field = node.fields.get(number)
      if (field === undefined) this.#skip(wire, number, end)
      else this.#field(draft, field, {wire, number, end})
    }
    this.#depth -= 1
    return draft.object
  }

  #field(draft: Draft, field: FieldNode, {wire, number, end}: {wire: number; number: number; end: number}): void {
    const {name, type} = field
    this.#path.push(name)
    if (field.keyType !== null) {
      if (wire === BYTES)
        this.#entry(draft.map(name), entryOf(field.keyType, type), this.#span(end, 'an entry of a map'))
      else this.#skip(wire, number, end)
    } else if (!fits(type, wire)) {
      if (field.repeated && wire === BYTES && isPackable(type)) this.#packed(draft.list(name), type, end)
      else this.#skip(wire, number, end)
    } else if (field.repeated) {
      const list = draft.list(name)
      this.#path.push(list.length)
      list.push(this.#value(type, wire, number, end))
      this.#path.pop()
    } else draft.object[name] = this.#value(type, wire, number, end)
    this.#path.pop()
  }

  #packed(list: DecodedValue[], type: FieldType, end: number): void {
    const last = this.#span(end, 'a packed list')
    while (this.#at < last) {
      this.#budget.spend(this.#at)
      this.#path.push(list.length)
      list.push(this.#value(type, VARINT, 0, last))
      this.#path.pop()
    }
  }

  /** A map is a list of messages with key 1 and value 2; the last of equal keys holds. */
  #entry(map: DecodedObject, entryNode: MessageNode, end: number): void {
    const {key = '', value = null} = this.message(entryNode, end, null)
    map[typeof key === 'string' || typeof key === 'number' || typeof key === 'bigint' ? `${key}` : `${key === true}`] =
      value
  }

  #value(type: FieldType, wire: number, number: number, end: number): DecodedValue {
    if (type.kind === 'message') {
      if (wire === GROUP) return this.message(type.node(), end, number)
      return this.message(type.node(), this.#span(end, 'a message'), null)
    }
    if (type.kind === 'enum') {
      const value = toInt32(this.#varint(end, 'an enum'))
      return type.names.get(value) ?? value
    }
    return this.#scalar(type.name, end)
  }

  #scalar(name: ScalarName, end: number): DecodedValue {
    switch (name) {
      case 'int32':
        return toInt32(this.#varint(end, 'an int32'))
      case 'uint32':
        return Number(BigInt.asUintN(32, this.#varint(end, 'a uint32')))
      case 'sint32': {
        const value = BigInt.asUintN(32, this.#varint(end, 'a sint32'))
        return Number((value >> 1n) ^ -(value & 1n))
      }
      case 'int64':
        return BigInt.asIntN(64, this.#varint(end, 'an int64'))
      case 'uint64':
        return BigInt.asUintN(64, this.#varint(end, 'a uint64'))
      case 'sint64': {
        const value = BigInt.asUintN(64, this.#varint(end, 'a sint64'))
        return (value >> 1n) ^ -(value & 1n)
      }
      case 'bool':
        return this.#varint(end, 'a bool') !== 0n
      case 'fixed32':
        return this.#take(4, end, 'a fixed32').readUInt32LE()
      case 'sfixed32':
        return this.#take(4, end, 'a sfixed32').readInt32LE()
      case 'float':
        return this.#take(4, end, 'a float').readFloatLE()
      case 'fixed64':
        return this.#take(8, end, 'a fixed64').readBigUInt64LE()
      case 'sfixed64':
        return this.#take(8, end, 'a sfixed64').readBigInt64LE()
      case 'double':
        return this.#take(8, end, 'a double').readDoubleLE()
      case 'bytes':
        return this.#take(this.#span(end, 'bytes') - this.#at, end, 'bytes')
      case 'string':
        break
    }
    return this.#string(end)
  }

  #string(end: number): string {
    const last = this.#span(end, 'a string')
    const bad = firstInvalidUtf8(this.#bytes, this.#at, last)
    if (bad === -1) return this.#take(last - this.#at, end, 'a string').toString('utf8')
    const byte = (this.#bytes[bad] ?? 0).toString(16).padStart(2, '0')
    return this.#fail(`byte 0x${byte} in a string is not valid UTF-8`, bad)
  }

  #skip(wire: number, number: number, end: number): void {
    if (wire === VARINT) this.#varint(end, 'an unknown field')
    else if (wire === FIXED64) this.#take(8, end, 'an unknown field')
    else if (wire === FIXED32) this.#take(4, end, 'an unknown field')
    else if (wire === BYTES) this.#at = this.#span(end, 'an unknown field')
    else if (wire === GROUP) this.message({fields: new Map()}, end, number)
    else this.#fail(`there is no wire type ${wire} (field number ${number})`)
  }

  #enter(): void {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH) this.#fail(`nested deeper than ${MAX_DEPTH}`)
  }

  /** Reads a length. @returns the first byte behind what it announces */
  #span(end: number, what: string): number {
    const at = this.#at
    const length = this.#varint(end, `the length of ${what}`)
    if (length > BigInt(end - this.#at)) {
      this.#fail(`the length of ${what} is ${length}, but ${end - this.#at} bytes are left`, at)
    }
    return this.#at + Number(length)
  }

  #take(length: number, end: number, what: string): Buffer {
    if (this.#at + length > end) this.#fail(`the bytes end inside ${what}: ${length} needed, ${end - this.#at} left`)
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return taken
  }

  #varint(end: number, what: string): bigint {
    const start = this.#at
    let value = 0n
    for (let count = 0; count < 10; count++) {
      const byte = start + count < end ? this.#bytes[start + count] : undefined
      if (byte === undefined) return this.#fail(`the bytes end inside ${what}`)
      value |= BigInt(byte & 0x7f) << BigInt(7 * count)
      if (byte >= 0x80) continue
      this.#at = start + count + 1
      return BigInt.asUintN(64, value)
    }
    return this.#fail(`${what} takes more than 10 bytes`, start)
  }

  #fail(message: string, at = this.#at): never {
    throw new DecodeFault('decode', message, {at, field: formatPath(this.#path)})
  }
}

/** A message while its fields come; lists and maps are filled in place. */
class Draft {
  readonly object = createObject()
  readonly #lists = new Map<string, DecodedValue[]>()
  readonly #maps = new Map<string, DecodedObject>()

  constructor({fields}: MessageNode) {
    for (const {name, keyType, repeated, hasDefault, type} of fields.values()) {
      if (keyType !== null) this.map(name)
      else if (repeated) this.list(name)
      else if (hasDefault) {
        const value = defaultOf(type)
        if (value !== undefined) this.object[name] = value
      }
    }
  }

  list(name: string): DecodedValue[] {
    const list = this.#lists.get(name) ?? []
    this.#lists.set(name, list)
    this.object[name] = list
    return list
  }

  map(name: string): DecodedObject {
    const map = this.#maps.get(name) ?? createObject()
    this.#maps.set(name, map)
    this.object[name] = map
    return map
  }
}

function entryOf(keyType: ScalarName, valueType: FieldType): MessageNode {
  const field = (name: string, type: FieldType): FieldNode => ({
    name,
    keyType: null,
    repeated: false,
    hasDefault: true,
    type,
  })
  return {
    fields: new Map([
      [1, field('key', {kind: 'scalar', name: keyType})],
      [2, field('value', valueType)],
    ]),
  }
}

function defaultOf(type: FieldType): DecodedValue | undefined {
  if (type.kind === 'message') return undefined
  if (type.kind === 'enum') return type.names.get(0) ?? 0
  if (type.name === 'string') return ''
  if (type.name === 'bytes') return Buffer.alloc(0)
  if (type.name === 'bool') return false
  return type.name.endsWith('64') ? 0n : 0
}

function fits(type: FieldType, wire: number): boolean {
  if (type.kind === 'message') return wire === BYTES || wire === GROUP
  return wire === wireOf(type)
}

const isPackable = (type: FieldType): boolean =>
  type.kind === 'enum' || (type.kind === 'scalar' && wireOf(type) !== BYTES)

function wireOf(type: Exclude<FieldType, {kind: 'message'}>): number {
  if (type.kind === 'enum') return VARINT
  if (type.name === 'string' || type.name === 'bytes') return BYTES
  if (type.name === 'double' || type.name === 'fixed64' || type.name === 'sfixed64') return FIXED64
  return type.name === 'float' || type.name === 'fixed32' || type.name === 'sfixed32' ? FIXED32 : VARINT
}
