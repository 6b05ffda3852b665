/**
 * Makes text from Kafka safe for a terminal. C0 and DEL become caret notation (`^[`), C1, bidirectional and zero-width
 * characters, lone surrogates and other invisible format characters become `\u{...}`. Applied before measuring and
 * colouring, never after.
 */

// Format characters (bidi marks and isolates, zero-width, soft hyphen, tags), separators, surrogates, private controls.
const UNSAFE =
  /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}|\u034F|[\u115F\u1160]|[\u17B4\u17B5]|[\u180B-\u180F]|\u3164|[\uFE00-\uFE0F]|\uFFA0|[\u{E0100}-\u{E01EF}]/gu

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`
  if (code === 0x7f) return '^?'
  return `\\u{${code.toString(16)}}`
}

/** One line: line ends are shown as `⏎` (`^J`, `^M` when `ascii`), tabs as `^I`. */
export function sanitize(text: string, options: {ascii?: boolean} = {}): string {
  if (isPlain(text)) return text
  const lineEnd = options.ascii === true ? '^J' : '⏎'
  return text.replace(UNSAFE, character => (character === '\n' ? lineEnd : visible(character)))
}

/** Several lines: line feeds stay, a carriage return before one is dropped, tabs become four spaces. */
export function sanitizeBlock(text: string): string {
  if (isPlain(text)) return text
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '    ')
    .replace(UNSAFE, character => (character === '\n' ? '\n' : visible(character)))
}

// Most text is printable ASCII: a cheap scan saves the Unicode-aware replacement.
function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || code > 0x7e) return false
  }
  return true
}

/**
 * JSON text for a terminal: characters that `JSON.stringify` leaves as they are and a terminal obeys become `\uXXXX`,
 * so the text stays valid JSON with the same meaning.
 */
export function escapeJsonForTerminal(json: string): string {
  if (isPlain(json)) return json
  return json.replace(UNSAFE, character => (character === '\n' ? '\n' : unicodeEscapes(character)))
}

function unicodeEscapes(character: string): string {
  let escaped = ''
  for (let index = 0; index < character.length; index++) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  }
  return escaped
}
