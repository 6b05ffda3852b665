import {formatPath} from '../path.ts'
import {firstInvalidUtf8} from '../utf8.ts'

/** Where a JSON text stops making sense. */
export interface JsonFault {
  readonly at: number
  readonly message: string
  /** Field that was being read; empty at the top. */
  readonly field: string
}

/** Deepest nesting of JSON that is taken. */
export const MAX_JSON_DEPTH = 512

type Segment = string | number
interface Level {
  readonly isObject: boolean
  /** Name or index that is being read. */
  segment: Segment
}
type Expect = 'value' | 'value-or-end' | 'name' | 'name-or-end' | 'comma-or-end' | 'nothing'

const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
const [QUOTE, BACKSLASH, COLON, COMMA, MINUS] = [0x22, 0x5c, 0x3a, 0x2c, 0x2d]
const ESCAPED = new Set(Buffer.from('"\\/bfnrtu'))
const WORDS = ['true', 'false', 'null']

/**
 * Check a JSON text (RFC 8259) byte by byte, without recursion.
 * @param onValue called with the first byte of each value and its path; the path is live
 * @returns null when it is JSON from the first to the last byte
 */
export function findJsonFault(
  bytes: Buffer,
  onValue?: (at: number, path: readonly Segment[]) => void,
): JsonFault | null {
  return new JsonScan(bytes, onValue).run()
}

/** First byte of the value at a path; null when there is none. The text has to be JSON. */
export function locateJson(bytes: Buffer, path: readonly Segment[]): number | null {
  let found: number | null = null
  findJsonFault(bytes, (at, current) => {
    const isThere =
      current.length === path.length && current.every((segment, index) => String(segment) === String(path[index]))
    if (isThere) found = at
  })
  return found
}

class JsonScan {
  readonly #bytes: Buffer
  readonly #onValue: ((at: number, path: readonly Segment[]) => void) | undefined
  readonly #levels: Level[] = []
  #at = 0
  #fault: JsonFault | null = null

  constructor(bytes: Buffer, onValue?: (at: number, path: readonly Segment[]) => void) {
    this.#bytes = bytes
    this.#onValue = onValue
  }

  run(): JsonFault | null {
    if (this.#bytes.length >= 3 && this.#bytes.readUIntBE(0, 3) === 0xefbbbf) {
      return {at: 0, message: 'a byte order mark stands before the text', field: ''}
    }
    let expect: Expect = 'value'
    while (this.#fault === null) {
      this.#skipSpace()
      if (this.#at >= this.#bytes.length) {
        if (expect !== 'nothing') this.#fail(this.#at, this.#endMessage())
        break
      }
      expect = this.#step(expect)
    }
    return this.#fault
  }

  #step(expect: Expect): Expect {
    const byte = this.#bytes[this.#at] ?? 0
    const level = this.#levels.at(-1)
    switch (expect) {
      case 'nothing':
        return this.#fail(this.#at, `${this.#bytes.length - this.#at} bytes stand behind the end of the value`)
      case 'name-or-end':
      case 'name':
        if (byte === CLOSE_OBJECT && expect === 'name-or-end') return this.#close()
        if (byte !== QUOTE) return this.#fail(this.#at, `a name in quotes is expected, here is ${shown(byte)}`)
        return this.#name(level)
      case 'comma-or-end':
        if (byte === (level?.isObject === true ? CLOSE_OBJECT : CLOSE_ARRAY)) return this.#close()
        if (byte !== COMMA) return this.#fail(this.#at, `a comma or the end is expected, here is ${shown(byte)}`)
        this.#at += 1
        if (level !== undefined && typeof level.segment === 'number') level.segment += 1
        return level?.isObject === true ? 'name' : 'value'
      case 'value-or-end':
        if (byte === CLOSE_ARRAY) return this.#close()
        break
      case 'value':
        break
    }
    return this.#value(byte)
  }

  #value(byte: number): Expect {
    this.#onValue?.(
      this.#at,
      this.#levels.map(({segment}) => segment),
    )
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (this.#levels.length >= MAX_JSON_DEPTH) return this.#fail(this.#at, `nested deeper than ${MAX_JSON_DEPTH}`)
      const isObject = byte === OPEN_OBJECT
      this.#levels.push({isObject, segment: isObject ? '' : 0})
      this.#at += 1
      return isObject ? 'name-or-end' : 'value-or-end'
    }
    if (byte === QUOTE) this.#string()
    else if (byte === MINUS || isDigit(byte)) this.#number()
    else this.#word(byte)
    return this.#afterValue()
  }

  #name(level: Level | undefined): Expect {
    const start = this.#at
    if (level !== undefined) level.segment = ''
    if (!this.#string()) return 'nothing'
    if (level !== undefined) level.segment = String(JSON.parse(this.#bytes.toString('utf8', start, this.#at)))
    this.#skipSpace()
    if (this.#at >= this.#bytes.length) return this.#fail(this.#at, this.#endMessage())
    const byte = this.#bytes[this.#at] ?? 0
    if (byte !== COLON) return this.#fail(this.#at, `a colon is expected behind the name, here is ${shown(byte)}`)
    this.#at += 1
    return 'value'
  }

  #close(): Expect {
    this.#levels.pop()
    this.#at += 1
    return this.#afterValue()
  }

  #afterValue(): Expect {
    return this.#levels.length === 0 ? 'nothing' : 'comma-or-end'
  }

  /** Moves behind the closing quote. @returns false after a fault */
  #string(): boolean {
    const start = this.#at
    for (let at = start + 1; at < this.#bytes.length; at++) {
      const byte = this.#bytes[at] ?? 0
      if (byte === QUOTE) {
        if (firstInvalidUtf8(this.#bytes, start, at) !== -1) return this.#rejectString(start, at, '')
        this.#at = at + 1
        return true
      }
      if (byte < 0x20) return this.#rejectString(start, at, `control character ${hex(byte)} in a string`)
      if (byte !== BACKSLASH) continue
      at += 1
      const escaped = this.#bytes[at]
      if (escaped === undefined) break
      if (!ESCAPED.has(escaped)) return this.#rejectString(start, at - 1, `there is no escape \\${shown(escaped)}`)
      if (escaped !== 0x75) continue
      const digits = this.#bytes.toString('latin1', at + 1, at + 5)
      if (!/^[0-9A-Fa-f]{4}$/.test(digits))
        return this.#rejectString(start, at - 1, 'an escape \\u needs four hex digits')
      at += 4
    }
    const end = this.#bytes.length
    return this.#rejectString(start, end, `the text ends inside the string that began at byte ${start}`)
  }

  /** Bytes before the fault that are no text come first. */
  #rejectString(start: number, at: number, message: string): false {
    const bad = firstInvalidUtf8(this.#bytes, start, at)
    if (bad === -1) return this.#reject(at, message)
    return this.#reject(bad, `byte ${hex(this.#bytes[bad] ?? 0)} is not valid UTF-8`)
  }

  #number(): void {
    const start = this.#at
    const skipDigits = (): number => {
      const from = this.#at
      while (isDigit(this.#bytes[this.#at] ?? 0)) this.#at += 1
      return this.#at - from
    }
    if (this.#bytes[this.#at] === MINUS) this.#at += 1
    const firstDigit = this.#bytes[this.#at]
    const whole = skipDigits()
    if (whole === 0) return void this.#reject(this.#at, 'a number has no digits')
    if (whole > 1 && firstDigit === 0x30) return void this.#reject(start, 'a number begins with 0')
    if (this.#bytes[this.#at] === 0x2e) {
      this.#at += 1
      if (skipDigits() === 0) return void this.#reject(this.#at, 'a number has no digits behind its point')
    }
    if (((this.#bytes[this.#at] ?? 0) | 0x20) === 0x65) {
      this.#at += 1
      const sign = this.#bytes[this.#at]
      if (sign === 0x2b || sign === MINUS) this.#at += 1
      if (skipDigits() === 0) this.#reject(this.#at, 'a number has no digits in its exponent')
    }
  }

  #word(byte: number): void {
    const word = WORDS.find(text => this.#bytes.toString('latin1', this.#at, this.#at + text.length) === text)
    if (word === undefined) this.#reject(this.#at, `a value is expected, here is ${shown(byte)}`)
    else this.#at += word.length
  }

  #skipSpace(): void {
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return
      this.#at += 1
    }
  }

  #endMessage(): string {
    const open = this.#levels.length
    if (open === 0) return 'there is no value'
    return `the text ends while ${open === 1 ? '1 object or list is' : `${open} objects or lists are`} open`
  }

  #fail(at: number, message: string): Expect {
    this.#reject(at, message)
    return 'nothing'
  }

  #reject(at: number, message: string): false {
    const path = this.#levels
      .map(({segment}) => segment)
      .filter((segment, index, all) => segment !== '' || index < all.length - 1)
    this.#fault ??= {at, message, field: formatPath(path)}
    return false
  }
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
const hex = (byte: number): string => `0x${byte.toString(16).padStart(2, '0')}`

/** A byte as a person knows it. */
function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : hex(byte)
}
