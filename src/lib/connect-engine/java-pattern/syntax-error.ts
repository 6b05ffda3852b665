import {Throwable} from '../errors.ts'

/** `java.util.regex.PatternSyntaxException`: description, place and the pattern with a mark below the place. */
export class PatternSyntaxError extends Throwable {
  override readonly className = 'java.util.regex.PatternSyntaxException'

  /** @param index code point the parser had read last; negative = nowhere */
  constructor(description: string, pattern: string, index: number) {
    super(describe(description, pattern, index), 'E_PATTERN')
  }
}

function describe(description: string, pattern: string, index: number): string {
  const place = index < 0 ? '' : ` near index ${index}`
  if (index < 0 || index >= pattern.length) return `${description}${place}\n${pattern}`
  const indent = pattern.slice(0, index).replaceAll(/[^\t]/g, ' ')
  return `${description}${place}\n${pattern}\n${indent}^`
}
