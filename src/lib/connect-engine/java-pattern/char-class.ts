/** Sets of characters of Java's patterns, as members of a class of this runtime's expressions (flag `v`). */

/** `\d`, `\w` and so on: ASCII, as in Java without UNICODE_CHARACTER_CLASS. Upper case letters are the complement. */
export const PREDEFINED: ReadonlyMap<string, string> = new Map([
  ['d', '0-9'],
  ['w', 'a-zA-Z0-9_'],
  ['s', ' \\t\\n\\x0B\\f\\r'],
  ['h', ' \\t\\xA0\\u1680\\u180E\\u2000-\\u200A\\u202F\\u205F\\u3000'],
  ['v', '\\n\\x0B\\f\\r\\x85\\u2028\\u2029'],
])

/** Any line terminator of Java. */
export const LINE_TERMINATORS = '\\n\\r\\x85\\u2028\\u2029'

const POSIX: ReadonlyMap<string, string> = new Map([
  ['Lower', 'a-z'],
  ['Upper', 'A-Z'],
  ['ASCII', '\\x00-\\x7F'],
  ['Alpha', 'a-zA-Z'],
  ['Digit', '0-9'],
  ['Alnum', 'a-zA-Z0-9'],
  ['Punct', '\\x21-\\x2F\\x3A-\\x40\\x5B-\\x60\\x7B-\\x7E'],
  ['Graph', '\\x21-\\x7E'],
  ['Print', '\\x20-\\x7E'],
  ['Blank', ' \\t'],
  ['Cntrl', '\\x00-\\x1F\\x7F'],
  ['XDigit', '0-9a-fA-F'],
  ['Space', ' \\t\\n\\x0B\\f\\r'],
  ['all', '\\u{0}-\\u{10FFFF}'],
])

const JAVA_METHODS: ReadonlyMap<string, string> = new Map([
  ['javaLowerCase', '\\p{Lowercase}'],
  ['javaUpperCase', '\\p{Uppercase}'],
  ['javaAlphabetic', '\\p{Alphabetic}'],
  ['javaDigit', '\\p{Nd}'],
  ['javaLetter', '\\p{L}'],
  ['javaLetterOrDigit', '[\\p{L}\\p{Nd}]'],
  ['javaWhitespace', '[\\p{Zs}\\p{Zl}\\p{Zp}\\t\\n\\x0B\\f\\r\\x1C-\\x1F--[\\xA0\\u2007\\u202F]]'],
])

/** One character as a member of a class or as an atom. */
export function literal(code: number): string {
  const isPlain = (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
  return isPlain ? String.fromCodePoint(code) : `\\u{${code.toString(16)}}`
}

/** From one character to another as a member of a class; `ignoreCase` adds the other case of ASCII letters. */
export function range(from: number, to: number, ignoreCase: boolean): string {
  const plain = from === to ? literal(from) : `${literal(from)}-${literal(to)}`
  if (!ignoreCase) return plain
  return `${plain}${shifted(from, to, 97, 122, -32)}${shifted(from, to, 65, 90, 32)}`
}

function shifted(from: number, to: number, low: number, high: number, by: number): string {
  const [first, last] = [Math.max(from, low), Math.min(to, high)]
  return first > last ? '' : `${literal(first + by)}-${literal(last + by)}`
}

/** Members of the set `\p{NAME}`; null when there is no such name. */
export function property(name: string): string | null {
  const known = POSIX.get(name) ?? JAVA_METHODS.get(name)
  if (known !== undefined) return known
  const bare = name.replace(/^Is/, '')
  const [key = '', value] = bare.split('=')
  const tries = value === undefined ? [`\\p{${bare}}`, `\\p{Script=${bare}}`] : [`\\p{${longKey(key)}=${value}}`]
  return tries.find(isKnown) ?? tries.map(titled).find(isKnown) ?? null
}

function longKey(key: string): string {
  return {sc: 'Script', script: 'Script', gc: 'General_Category', general_category: 'General_Category'}[key] ?? key
}

function titled(escape: string): string {
  return escape.replaceAll(/(?<=[{=])[a-z]+/g, word => word.charAt(0).toUpperCase() + word.slice(1))
}

function isKnown(escape: string): boolean {
  try {
    return new RegExp(escape, 'v') instanceof RegExp
  } catch {
    return false
  }
}
