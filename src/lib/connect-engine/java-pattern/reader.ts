import {PatternSyntaxError} from './syntax-error.ts'

const END = 0

/** Code point of a character. */
export const code = (character: string): number => character.codePointAt(0) ?? 0

/** Steps through a pattern as Java's compiler does, so that an error is found at the same place. */
export abstract class PatternReader {
  protected readonly text: string
  protected readonly codes: readonly number[]
  /** Length of the pattern in code points. */
  protected readonly end: number
  protected cursor = 0
  protected flags = new Set<string>()

  constructor(text: string) {
    this.text = text
    this.codes = Array.from(withoutQuotes(text), code)
    this.end = this.codes.length
  }

  protected error(description: string): PatternSyntaxError {
    return new PatternSyntaxError(description, this.text, this.cursor - 1)
  }

  protected at(index: number): number {
    return this.codes[index] ?? END
  }

  /** Empty text at the end; with flag x, after white space and comments. */
  protected peek(): string {
    if (this.flags.has('x')) this.skipComments()
    return this.cursor >= this.end ? '' : String.fromCodePoint(this.at(this.cursor))
  }

  protected next(): string {
    this.cursor += 1
    return this.peek()
  }

  protected read(): string {
    const index = this.cursor
    this.cursor += 1
    return index >= this.end ? '' : String.fromCodePoint(this.at(index))
  }

  protected skipComments(): void {
    let isComment = false
    for (; this.cursor < this.end; this.cursor++) {
      const here = String.fromCodePoint(this.at(this.cursor))
      if (isComment) isComment = !/[\n\r\x85\u2028\u2029]/.test(here)
      else if (here === '#') isComment = true
      else if (!/[ \t\n\v\f\r]/.test(here)) return
    }
  }
}

/** `\Q...\E` written out. */
function withoutQuotes(text: string): string {
  return text.replaceAll(/\\Q([\s\S]*?)(?:\\E|$)/g, (_, quoted: string) =>
    quoted.replaceAll(/[\0-\x7F]/g, character => (/[a-zA-Z0-9]/.test(character) ? character : `\\${character}`)),
  )
}
