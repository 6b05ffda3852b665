/** Data of a JSON text: integers are bigint and everything else with a point or exponent is number; undefined = no value at all. */
export type JsonNode =
  null | boolean | bigint | number | string | readonly JsonNode[] | ReadonlyMap<string, JsonNode> | undefined

/** Limits of Jackson (`StreamReadConstraints`). */
const MAX_DEPTH = 1000
const MAX_NUMBER_LENGTH = 1000

const NUMBER = /^-?(\d+)(\.\d+)?([eE][+-]?\d+)?/
const code = (character: string): number => character.charCodeAt(0)
const [QUOTE, BACKSLASH, COMMA, COLON] = [code('"'), code('\\'), code(','), code(':')]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [code('{'), code('}'), code('['), code(']')]
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])
const LITERALS: readonly (readonly [text: string, value: JsonNode])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** Why a text is no JSON, and where. */
export class JsonSyntaxError extends Error {
  /** @param at byte */
  constructor(what: string, at: number) {
    super(`${what} at byte ${at}`)
    this.name = 'JsonSyntaxError'
  }
}

/**
 * Reads the first JSON value of some bytes as Kafka's JsonDeserializer does: leading zeros are fine, whatever follows the
 * value is not looked at, text that is no UTF-8 is an error, no text at all is a value that is missing.
 * @throws JsonSyntaxError
 */
export function readJson(bytes: Buffer): JsonNode {
  return new JsonReader(asUtf8(bytes)).read()
}

class JsonReader {
  readonly #bytes: Buffer
  readonly #text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true})
  #at: number

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  }

  read(): JsonNode {
    this.#skipSpace()
    if (this.#at >= this.#bytes.length) return undefined
    const node = this.#value(0)
    const next = this.#bytes[this.#at]
    const isScalar = typeof node !== 'object' && typeof node !== 'string'
    if ((isScalar || node === null) && next !== undefined && !isSpace(next)) throw this.#error('unexpected character')
    return node
  }

  #error(what: string): JsonSyntaxError {
    return new JsonSyntaxError(what, this.#at)
  }

  #skipSpace(): void {
    while (this.#at < this.#bytes.length && isSpace(this.#bytes[this.#at] ?? 0)) this.#at += 1
  }

  #value(depth: number): JsonNode {
    this.#skipSpace()
    const first = this.#bytes[this.#at]
    const isNested = first === OPEN_OBJECT || first === OPEN_ARRAY
    if (isNested && depth >= MAX_DEPTH) throw this.#error('nesting is too deep')
    if (first === OPEN_OBJECT) return this.#object(depth)
    if (first === OPEN_ARRAY) return this.#array(depth)
    if (first === QUOTE) return this.#string()
    for (const [text, value] of LITERALS) if (this.#take(text)) return value
    return this.#number()
  }

  #object(depth: number): ReadonlyMap<string, JsonNode> {
    const fields = new Map<string, JsonNode>()
    this.#at += 1
    this.#skipSpace()
    if (this.#is(CLOSE_OBJECT)) return fields
    for (;;) {
      this.#skipSpace()
      if (this.#bytes[this.#at] !== QUOTE) throw this.#error('expected a field name')
      const name = this.#string()
      this.#skipSpace()
      if (!this.#is(COLON)) throw this.#error('expected a colon')
      fields.set(name, this.#value(depth + 1))
      this.#skipSpace()
      if (this.#is(CLOSE_OBJECT)) return fields
      if (!this.#is(COMMA)) throw this.#error('expected a comma')
    }
  }

  #array(depth: number): readonly JsonNode[] {
    const elements: JsonNode[] = []
    this.#at += 1
    this.#skipSpace()
    if (this.#is(CLOSE_ARRAY)) return elements
    for (;;) {
      elements.push(this.#value(depth + 1))
      this.#skipSpace()
      if (this.#is(CLOSE_ARRAY)) return elements
      if (!this.#is(COMMA)) throw this.#error('expected a comma')
    }
  }

  #is(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false
    this.#at += 1
    return true
  }

  #take(literal: string): boolean {
    const end = this.#at + literal.length
    if (this.#bytes.toString('latin1', this.#at, end) !== literal) return false
    const next = String.fromCharCode(this.#bytes[end] ?? 0)
    if (/[A-Za-z0-9_$\x80-\xff]/.test(next)) throw this.#error('unknown word')
    this.#at = end
    return true
  }

  #number(): bigint | number {
    const rest = this.#bytes.toString('latin1', this.#at, this.#at + MAX_NUMBER_LENGTH + 2)
    const match = NUMBER.exec(rest)
    if (match === null) throw this.#error('expected a value')
    const [text, , fraction, exponent] = match
    if (text.length > MAX_NUMBER_LENGTH) throw this.#error('number is too long')
    if (/^[.eE+\-\w]/.test(rest.slice(text.length))) throw this.#error('unexpected character in a number')
    this.#at += text.length
    if (fraction !== undefined || exponent !== undefined) return Number(text)
    return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text)
  }

  #string(): string {
    this.#at += 1
    let result = ''
    for (let start = this.#at; ;) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined) throw this.#error('unexpected end of text')
      if (byte < 0x20) throw this.#error('control character in a text')
      if (byte !== QUOTE && byte !== BACKSLASH) {
        this.#at += 1
        continue
      }
      result += this.#decode(start)
      this.#at += 1
      if (byte === QUOTE) return result
      result += this.#escape()
      start = this.#at
    }
  }

  #decode(start: number): string {
    try {
      return this.#text.decode(this.#bytes.subarray(start, this.#at))
    } catch {
      throw this.#error('text is no UTF-8')
    }
  }

  #escape(): string {
    const letter = String.fromCharCode(this.#bytes[this.#at] ?? 0)
    this.#at += 1
    if (letter !== 'u') {
      const character = ESCAPES.get(letter)
      if (character === undefined) throw this.#error('unknown escape')
      return character
    }
    const digits = this.#bytes.toString('latin1', this.#at, this.#at + 4)
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#error('expected four hexadecimal digits')
    this.#at += 4
    return String.fromCharCode(Number.parseInt(digits, 16))
  }
}

/** Zero bytes at the start tell UTF-16, as Jackson guesses it. */
function asUtf8(bytes: Buffer): Buffer {
  const [first, second] = bytes
  if (bytes.length < 2 || (first === 0) === (second === 0)) return bytes
  return Buffer.from(new TextDecoder(first === 0 ? 'utf-16be' : 'utf-16le').decode(bytes))
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
}
