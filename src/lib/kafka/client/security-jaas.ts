/** Values of sasl.jaas.config. */

export interface LoginModule {
  /** Class name. */
  readonly name: string
  readonly options: ReadonlyMap<string, string>
}

const HEAD = /^\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)(?=[\s;])/i
const OPTION = /\s+([\w.$-]+)\s*=\s*(?:"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'|([^\s;"']+))/y
const TAIL = /\s*;\s*/y

/** One login module: `CLASS required key="value" ...;`. @returns null when the text is something else, or more than one */
export function parseJaas(text: string): LoginModule | null {
  const head = HEAD.exec(text)
  if (head?.[1] === undefined) return null
  const options = new Map<string, string>()
  let at = head[0].length
  for (;;) {
    OPTION.lastIndex = at
    const match = OPTION.exec(text)
    if (match === null) break
    const [whole, key = '', double, single, bare = ''] = match
    const quoted = double ?? single
    options.set(key, quoted === undefined ? bare : unquote(quoted))
    at += whole.length
  }
  TAIL.lastIndex = at
  return TAIL.test(text) && TAIL.lastIndex === text.length ? {name: head[1], options} : null
}

const ESCAPES: Readonly<Record<string, string>> = {n: '\n', r: '\r', t: '\t', f: '\f', b: '\b'}

function unquote(text: string): string {
  return text.replaceAll(/\\([\s\S])/g, (_whole, char: string) => ESCAPES[char] ?? char)
}
