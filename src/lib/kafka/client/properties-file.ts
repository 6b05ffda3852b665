/** Text of a Java .properties file to keys and values, as java.util.Properties reads it. */

/**
 * Keys and values in file order; a repeated key keeps its last value. Comments, blank lines, escapes, lines that go on
 * after a backslash, and `=`, `:` or blanks between key and value are Java's.
 */
export function parseProperties(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const line of logicalLines(text)) {
    const match = /^((?:[^\\=:\s]|\\[\s\S])*)[ \t\f]*[=:]?[ \t\f]*([\s\S]*)$/.exec(line)
    const [, key = '', value = ''] = match ?? []
    found.set(unescape(key), unescape(value))
  }
  return found
}

function logicalLines(text: string): string[] {
  const lines: string[] = []
  let open = ''
  let continues = false
  for (const natural of text.split(/\r\n|\r|\n/)) {
    const line = natural.replace(/^[ \t\f]+/, '')
    if (!continues && (line === '' || line.startsWith('#') || line.startsWith('!'))) continue
    continues = endsInBackslash(line)
    open += continues ? line.slice(0, -1) : line
    if (continues) continue
    lines.push(open)
    open = ''
  }
  if (open !== '') lines.push(open)
  return lines
}

function endsInBackslash(line: string): boolean {
  const [backslashes = ''] = /\\*$/.exec(line) ?? []
  return backslashes.length % 2 === 1
}

const ESCAPES: Readonly<Record<string, string>> = {t: '\t', n: '\n', r: '\r', f: '\f'}

function unescape(text: string): string {
  return text.replaceAll(
    /\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g,
    (_whole, hex: string | undefined, char: string | undefined) => {
      if (hex !== undefined) return String.fromCharCode(Number(`0x${hex}`))
      return ESCAPES[char ?? ''] ?? char ?? ''
    },
  )
}
