import {LINE_TERMINATORS, literal, range} from './char-class.ts'
import {EscapeReader, isDigit, LAST_LINE_END, START} from './escapes.ts'
import {code} from './reader.ts'

const BACKSLASH = code('\\')
const FLAGS = 'imsducxU'

/** A pattern in this runtime's syntax (flag `v`). */
export interface ParsedPattern {
  readonly source: string
  readonly groups: number
  readonly names: ReadonlyMap<string, number>
}

/**
 * Recursive descent in the steps of Java's own compiler.
 * @see java.util.regex.Pattern
 */
export class JavaPatternParser extends EscapeReader {
  #atomics = 0

  /** @throws PatternSyntaxError */
  parse(): ParsedPattern {
    const source = this.#alternatives()
    if (this.cursor !== this.end) {
      throw this.error(this.peek() === ')' ? "Unmatched closing ')'" : 'Unexpected internal error')
    }
    return {source, groups: this.groups, names: this.names}
  }

  #alternatives(): string {
    const branches = [this.#sequence()]
    while (this.peek() === '|') {
      this.cursor += 1
      branches.push(this.#sequence())
    }
    return branches.join('|')
  }

  #sequence(): string {
    let source = ''
    for (;;) {
      const character = this.peek()
      if (character === '|' || character === ')' || (character === '' && this.cursor >= this.end)) return source
      const atom = this.#atom(character)
      source += atom === null ? '' : this.#quantified(atom)
    }
  }

  /** @returns null for inline flags, which cannot be repeated */
  #atom(character: string): string | null {
    if (character === '(') return this.#group()
    if (character === '[') return this.#class(true)
    if (character === '\\') return this.#escapeAtom()
    if (character === '{') return ''
    if ('?*+'.includes(character)) {
      this.next()
      throw this.error(`Dangling meta character '${character}'`)
    }
    this.next()
    if (character === '.') return this.#dot()
    if (character === '^') return this.flags.has('m') ? `(?<=${START}|[${LINE_TERMINATORS}])` : START
    if (character === '$') return this.flags.has('m') ? `(?=[${LINE_TERMINATORS}]|(?![\\s\\S]))` : LAST_LINE_END
    return this.#character(code(character))
  }

  #dot(): string {
    if (this.flags.has('s')) return '[\\s\\S]'
    return this.flags.has('d') ? '[^\\n]' : `[^${LINE_TERMINATORS}]`
  }

  #character(point: number): string {
    return this.flags.has('i') && /[a-z]/i.test(String.fromCodePoint(point))
      ? `[${range(point, point, true)}]`
      : literal(point)
  }

  #quantified(atom: string): string {
    const bounds = this.#bounds()
    if (bounds === null) return atom
    const repeated = `(?:${atom})${bounds}`
    if (this.peek() === '?') {
      this.next()
      return `${repeated}?`
    }
    if (this.peek() !== '+') return repeated
    this.next()
    return this.#atomic(repeated)
  }

  /** No way back into it: JavaScript has no such group, but a lookahead is one. */
  #atomic(source: string): string {
    this.#atomics += 1
    return `(?:(?=(?<a${this.#atomics}>${source}))\\k<a${this.#atomics}>)`
  }

  #bounds(): string | null {
    const character = this.peek()
    if (character !== '' && '?*+'.includes(character)) {
      this.next()
      return character
    }
    if (character !== '{') return null
    this.cursor += 1
    const first = this.read()
    if (!isDigit(first)) throw this.error('Illegal repetition')
    const [min, afterMin] = this.#count(first)
    let [max, after]: [number | null, string] = [min, afterMin]
    if (afterMin === ',') {
      const second = this.read()
      if (isDigit(second)) [max, after] = this.#count(second)
      else [max, after] = [null, second]
    }
    if (after !== '}') throw this.error('Unclosed counted closure')
    if (max !== null && max < min) throw this.error('Illegal repetition range')
    return max === null ? `{${min},}` : `{${min},${max}}`
  }

  #count(first: string): [number, string] {
    let [count, character] = [0, first]
    do {
      count = count * 10 + Number(character)
      if (count > 2 ** 31 - 1) throw this.error('Illegal repetition range')
      character = this.read()
    } while (isDigit(character))
    return [count, character]
  }

  #group(): string | null {
    const outside = new Set(this.flags)
    let open: string
    let isAtomic = false
    if (this.next() === '?') {
      this.cursor += 1
      const kind = this.read()
      if (kind === ':') open = '(?:'
      else if (kind === '=' || kind === '!') open = `(?${kind}`
      else if (kind === '>') [open, isAtomic] = ['(?:', true]
      else if (kind === '<') open = this.#named()
      else if (kind === '$' || kind === '@') throw this.error('Unknown group type')
      else {
        this.cursor -= 1
        this.#readFlags()
        const end = this.read()
        if (end === ')') return null
        if (end !== ':') throw this.error('Unknown inline modifier')
        open = '(?:'
      }
    } else {
      this.groups += 1
      open = `(?<g${this.groups}>`
    }
    const inner = this.#alternatives()
    if (this.read() !== ')') throw this.error('Unclosed group')
    this.flags = outside
    return isAtomic ? this.#atomic(inner) : `${open}${inner})`
  }

  #named(): string {
    const first = this.read()
    if (first === '=' || first === '!') return `(?<${first}`
    const name = this.groupName(first)
    if (this.names.has(name)) throw this.error(`Named capturing group <${name}> is already defined`)
    this.groups += 1
    this.names.set(name, this.groups)
    return `(?<g${this.groups}>`
  }

  #readFlags(): void {
    let on = true
    for (let character = this.peek(); ; character = this.next()) {
      if (character === '-') on = false
      else if (character === '' || !FLAGS.includes(character)) return
      else if (on) this.flags.add(character)
      else this.flags.delete(character)
    }
  }

  #escapeAtom(): string {
    const letter = this.cursor + 1 < this.end ? String.fromCodePoint(this.at(this.cursor + 1)) : ''
    if (letter === 'p' || letter === 'P') return `[${this.property()}]`
    const escape = this.escape(false)
    return typeof escape === 'number' ? this.#character(escape) : escape
  }

  /** The cursor is at the opening bracket, or (right side of `&&`) before the first member. */
  #class(consume: boolean): string {
    let character = this.next()
    const isNegated = character === '^' && this.at(this.cursor - 1) === code('[')
    if (isNegated) character = this.next()
    let members: string | null = null
    for (;;) {
      if (character === '[') {
        members = `${members ?? ''}${this.#class(true)}`
      } else if (character === '&' && this.at(this.cursor + 1) === code('&')) {
        members = this.#intersection(members)
      } else if (character === ']' && members !== null) {
        if (consume) this.next()
        return `[${isNegated ? '^' : ''}${members}]`
      } else if (character === '' && this.cursor >= this.end) {
        throw this.error('Unclosed character class')
      } else {
        members = `${members ?? ''}${this.#member()}`
      }
      character = this.peek()
    }
  }

  #intersection(left: string | null): string {
    this.cursor += 1
    let character = this.next()
    let right: string | null = null
    while (character !== ']' && character !== '&' && this.cursor < this.end) {
      if (character === '[') right = `${right ?? ''}${this.#class(true)}`
      else {
        this.cursor -= 1
        right = `${right ?? ''}${this.#class(false)}`
      }
      character = this.peek()
    }
    if (left === null && right === null) throw this.error('Bad class syntax')
    if (left === null || right === null) return left ?? right ?? ''
    return `[[${left}]&&[${right}]]`
  }

  #member(): string {
    let first: number | string
    if (this.at(this.cursor) === BACKSLASH) {
      const letter = this.at(this.cursor + 1)
      if (letter === code('p') || letter === code('P')) return this.property()
      first = this.escape(true, this.at(this.cursor + 2) === code('-'))
      if (typeof first === 'string') return first
    } else {
      first = this.at(this.cursor)
      this.next()
    }
    const after = this.at(this.cursor + 1)
    if (this.peek() !== '-' || after === code('[') || after === code(']')) return this.#span(first, first)
    this.next()
    let last: number | string = this.at(this.cursor)
    if (last === BACKSLASH) last = this.escape(true, true)
    else this.next()
    if (typeof last === 'string' || last < first) throw this.error('Illegal character range')
    return this.#span(first, last)
  }

  #span(from: number, to: number): string {
    return range(from, to, this.flags.has('i'))
  }
}
