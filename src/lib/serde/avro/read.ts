import {Budget, MAX_DEPTH} from '../budget.ts'
import {DecodeFault} from '../fault.ts'
import {createObject} from '../objects.ts'
import {formatPath} from '../path.ts'
import type {DecodedValue} from '../types.ts'
import {firstInvalidUtf8} from '../utf8.ts'
import type {AvroNode} from './node.ts'

/** Bytes of the longest varint: 64 bits. */
const MAX_VARINT = 10

/**
 * A value in Avro's binary form. Longs are bigint, decimals decimal text, a union is the value of its branch.
 * @param start first byte of the value, which has to take all bytes to the end
 * @throws DecodeFault with the byte at which it stops making sense, and the field that was being read
 */
export function decodeAvro(root: AvroNode, bytes: Buffer, start: number): DecodedValue {
  return new AvroReader(bytes, start).read(root)
}

class AvroReader {
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

  read(root: AvroNode): DecodedValue {
    const value = this.#value(root)
    const left = this.#bytes.length - this.#at
    if (left > 0) this.#fail(`the value ends here, but ${left === 1 ? '1 byte follows' : `${left} bytes follow`}`)
    return value
  }

  #value(node: AvroNode): DecodedValue {
    this.#budget.spend(this.#at)
    switch (node.kind) {
      case 'null':
        return null
      case 'boolean':
        return this.#boolean()
      case 'int':
        return this.#int()
      case 'long':
        return this.#varint('a long')
      case 'float':
        return this.#take(4, 'a float').readFloatLE()
      case 'double':
        return this.#take(8, 'a double').readDoubleLE()
      case 'string':
        return this.#string('a string')
      case 'bytes':
        return toBytes(this.#take(this.#length('bytes'), 'bytes'), node.scale)
      case 'fixed':
        return toBytes(this.#take(node.size, 'a fixed value'), node.scale)
      case 'enum':
        return this.#choice(node.symbols, 'symbols of an enum')
      case 'union':
        return this.#nested(() => this.#value(this.#choice(node.branches, 'branches of a union')))
      case 'array':
        return this.#nested(() => this.#array(node.items))
      case 'map':
        return this.#nested(() => this.#map(node.items))
      case 'record':
        break
    }
    return this.#nested(() => this.#record(node.fields))
  }

  #nested<T>(read: () => T): T {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH) this.#fail(`nested deeper than ${MAX_DEPTH}`)
    const value = read()
    this.#depth -= 1
    return value
  }

  #record(fields: readonly {readonly name: string; readonly type: AvroNode}[]): DecodedValue {
    const record = createObject()
    for (const {name, type} of fields) {
      this.#path.push(name)
      record[name] = this.#value(type)
      this.#path.pop()
    }
    return record
  }

  #array(items: AvroNode): DecodedValue {
    const list: DecodedValue[] = []
    this.#blocks('an array', () => {
      this.#path.push(list.length)
      list.push(this.#value(items))
      this.#path.pop()
    })
    return list
  }

  #map(values: AvroNode): DecodedValue {
    const map = createObject()
    this.#blocks('a map', () => {
      const name = this.#string('a key of a map')
      this.#path.push(name)
      map[name] = this.#value(values)
      this.#path.pop()
    })
    return map
  }

  /** Blocks of items: a count, if negative followed by the bytes they take; 0 ends. */
  #blocks(what: string, item: () => void): void {
    for (;;) {
      const at = this.#at
      let count = this.#varint(`the count of ${what}`)
      if (count === 0n) return
      if (count < 0n) {
        count = -count
        const size = this.#varint(`the size of ${what}`)
        const left = this.#bytes.length - this.#at
        if (size < 0n || size > BigInt(left))
          this.#fail(`a block of ${what} is to take ${size} bytes, ${left} are left`, at)
      }
      for (let index = 0n; index < count; index++) {
        this.#budget.spend(at)
        item()
      }
    }
  }

  #boolean(): boolean {
    const at = this.#at
    const byte = this.#take(1, 'a boolean')[0] ?? 0
    if (byte > 1) this.#fail(`a boolean is 0 or 1, here is 0x${byte.toString(16).padStart(2, '0')}`, at)
    return byte === 1
  }

  #int(): number {
    const at = this.#at
    const value = this.#varint('an int')
    if (value < -(2n ** 31n) || value >= 2n ** 31n) this.#fail(`an int has 32 bits, here is ${value}`, at)
    return Number(value)
  }

  #choice<T>(of: readonly T[], what: string): T {
    const at = this.#at
    const index = this.#varint(`the index into ${what}`)
    const chosen = index >= 0n && index < BigInt(of.length) ? of[Number(index)] : undefined
    return chosen ?? this.#fail(`index ${index} into the ${of.length} ${what}`, at)
  }

  #string(what: string): string {
    const length = this.#length(what)
    const start = this.#at
    const text = this.#take(length, what)
    const bad = firstInvalidUtf8(this.#bytes, start, this.#at)
    if (bad !== -1) {
      this.#fail(`byte 0x${(this.#bytes[bad] ?? 0).toString(16).padStart(2, '0')} in ${what} is not valid UTF-8`, bad)
    }
    return text.toString('utf8')
  }

  #length(what: string): number {
    const at = this.#at
    const length = this.#varint(`the length of ${what}`)
    const left = this.#bytes.length - this.#at
    if (length < 0n) this.#fail(`the length of ${what} is ${length}`, at)
    if (length > BigInt(left)) this.#fail(`the length of ${what} is ${length}, but ${left} bytes are left`, at)
    return Number(length)
  }

  #take(length: number, what: string): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) {
      this.#fail(`the bytes end inside ${what}: ${length} needed, ${this.#bytes.length - this.#at} left`)
    }
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  /** Zigzag, 7 bits a byte, lowest first. */
  #varint(what: string): bigint {
    const start = this.#at
    // Up to four bytes are a small number: no bigint on the way.
    let small = 0
    for (let count = 0; count < 4; count++) {
      const byte = this.#bytes[start + count]
      if (byte === undefined) this.#fail(`the bytes end inside ${what}`)
      small |= ((byte ?? 0) & 0x7f) << (7 * count)
      if ((byte ?? 0) < 0x80) {
        this.#at = start + count + 1
        return BigInt((small >>> 1) ^ -(small & 1))
      }
    }
    let value = BigInt(small)
    for (let count = 4; count < MAX_VARINT; count++) {
      const byte = this.#bytes[start + count]
      if (byte === undefined) this.#fail(`the bytes end inside ${what}`)
      value |= BigInt((byte ?? 0) & 0x7f) << BigInt(7 * count)
      if ((byte ?? 0) >= 0x80) continue
      this.#at = start + count + 1
      if (value >= 2n ** 64n) this.#fail(`${what} has more than 64 bits`, start)
      return (value >> 1n) ^ -(value & 1n)
    }
    return this.#fail(`${what} takes more than ${MAX_VARINT} bytes`, start)
  }

  #fail(message: string, at = this.#at): never {
    throw new DecodeFault('decode', message, {at, field: formatPath(this.#path)})
  }
}

/** @param scale of a decimal; null = plain bytes */
function toBytes(bytes: Buffer, scale: number | null): DecodedValue {
  if (scale === null || bytes.length > MAX_DECIMAL_BYTES || scale > MAX_DECIMAL_BYTES) return bytes
  const unscaled = bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`))
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0')
  const sign = unscaled < 0n ? '-' : ''
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** Larger decimals stay bytes: writing digits takes quadratic time. */
const MAX_DECIMAL_BYTES = 128
