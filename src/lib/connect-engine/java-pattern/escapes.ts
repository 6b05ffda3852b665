import {LINE_TERMINATORS, PREDEFINED, property} from './char-class.ts'
import {code, PatternReader} from './reader.ts'

/** Where the text begins. */
export const START = '(?<![\\s\\S])'
/** Where the text ends, or before the line terminator that ends it. */
export const LAST_LINE_END = `(?=(?:\\r\\n|[${LINE_TERMINATORS}])?(?![\\s\\S]))`
const ESCAPED: ReadonlyMap<string, number> = new Map([
  ['a', 7],
  ['e', 27],
  ['f', 12],
  ['n', 10],
  ['r', 13],
  ['t', 9],
])
const ASSERTIONS: ReadonlyMap<string, string> = new Map([
  ['A', START],
  ['G', START],
  ['b', '\\b'],
  ['B', '\\B'],
  ['Z', LAST_LINE_END],
  ['z', '(?![\\s\\S])'],
  ['R', `(?:\\r\\n|[${PREDEFINED.get('v')}])`],
  ['X', '(?:\\P{M}\\p{M}*)'],
])

/** Everything that begins with a backslash; a group of Java with number N is called `gN`. */
export abstract class EscapeReader extends PatternReader {
  protected readonly names = new Map<string, number>()
  protected groups = 0

  /** The cursor is at the backslash. */
  protected property(): string {
    this.cursor += 1
    const isComplement = this.at(this.cursor) === code('P')
    const name = this.next() === '{' ? this.longName() : this.read()
    const members = property(name)
    if (members === null || name.startsWith('In')) throw this.error(unknownProperty(name))
    return isComplement ? `[^${members}]` : members
  }

  protected longName(): string {
    this.cursor += 1
    const start = this.cursor
    let character: string
    do character = this.read()
    while (character !== '}' && this.cursor <= this.end)
    if (character !== '}') throw this.error('Unclosed character family')
    if (start + 1 >= this.cursor) throw this.error('Empty character family')
    return String.fromCodePoint(...this.codes.slice(start, this.cursor - 1))
  }

  /** A character, or the source of a set or assertion. The cursor is at the backslash. */
  protected escape(inClass: boolean, isRange = false): number | string {
    this.cursor += 1
    const letter = this.read()
    if (letter === 'v' && isRange) return 11
    const set = PREDEFINED.get(letter.toLowerCase())
    if (set !== undefined) return letter === letter.toLowerCase() ? `[${set}]` : `[^${set}]`
    const assertion = inClass ? undefined : ASSERTIONS.get(letter)
    if (assertion !== undefined) return assertion
    const character = ESCAPED.get(letter)
    if (character !== undefined) return character
    if (letter === '0') return this.octal()
    if (letter === 'x') return this.hex()
    if (letter === 'u') return this.unicode()
    if (letter === 'c' && this.cursor < this.end) return code(this.read()) ^ 64
    if (letter === 'c') throw this.error('Illegal control escape sequence')
    if (/^[1-9]$/.test(letter) && !inClass) return this.reference(Number(letter))
    if (letter === 'k' && !inClass) return this.namedReference()
    if (/^[a-zA-Z1-9]$/.test(letter)) throw this.error('Illegal/unsupported escape sequence')
    return code(letter)
  }

  protected reference(first: number): string {
    let number = first
    while (isDigit(this.peek()) && number * 10 + Number(this.peek()) <= this.groups) {
      number = number * 10 + Number(this.read())
    }
    return number > this.groups ? '(?!)' : `\\k<g${number}>`
  }

  protected namedReference(): string {
    if (this.read() !== '<') throw this.error("\\k is not followed by '<' for named capturing group")
    const name = this.groupName(this.read())
    const number = this.names.get(name)
    if (number === undefined) throw this.error(`named capturing group <${name}> does not exist`)
    return `\\k<g${number}>`
  }

  protected groupName(first: string): string {
    if (!/^[a-zA-Z]$/.test(first)) throw this.error('capturing group name does not start with a Latin letter')
    let name = ''
    let character = first
    do {
      name += character
      character = this.read()
    } while (/^[a-zA-Z0-9]$/.test(character))
    if (character !== '>') throw this.error("named capturing group is missing trailing '>'")
    return name
  }

  protected octal(): number {
    let digits = this.read()
    if (!/^[0-7]$/.test(digits)) throw this.error('Illegal octal escape sequence')
    while (/^[0-7]$/.test(this.peek()) && (digits.length < 2 || (digits.length === 2 && digits < '40'))) {
      digits += this.read()
    }
    return Number.parseInt(digits, 8)
  }

  protected hex(): number {
    const first = this.read()
    if (isHex(first)) {
      const second = this.read()
      if (isHex(second)) return Number.parseInt(first + second, 16)
    } else if (first === '{' && isHex(this.peek())) {
      let [value, character] = [0, this.read()]
      for (; isHex(character); character = this.read()) {
        value = value * 16 + Number.parseInt(character, 16)
        if (value > 0x10_ff_ff) throw this.error('Hexadecimal codepoint is too big')
      }
      if (character !== '}') throw this.error('Unclosed hexadecimal escape sequence')
      return value
    }
    throw this.error('Illegal hexadecimal escape sequence')
  }

  protected unicode(): number {
    let digits = ''
    while (digits.length < 4) {
      const character = this.read()
      if (!isHex(character)) throw this.error('Illegal Unicode escape sequence')
      digits += character
    }
    return Number.parseInt(digits, 16)
  }
}

function unknownProperty(name: string): string {
  if (name.startsWith('In')) return `Unknown character block name {${name.slice(2)}}`
  return name.startsWith('Is')
    ? `Unknown character script name {${name.slice(2)}}`
    : `Unknown character property name {${name}}`
}

/** An ASCII digit. */
export function isDigit(character: string): boolean {
  return /^[0-9]$/.test(character)
}

function isHex(character: string): boolean {
  return /^[0-9a-fA-F]$/.test(character)
}
