import {JavaPatternParser} from './parser.ts'

/** A regular expression in Java's syntax, ready to match. */
export interface JavaPattern {
  /** As it was written. */
  readonly text: string
  /** Java's group number of each named group. */
  readonly groupNames: ReadonlyMap<string, number>
  /** The whole text has to match, as with `Matcher.matches`; null = it does not. */
  match(text: string): readonly (string | undefined)[] | null
}

/**
 * Compile a pattern of a connector configuration (`topics.regex`, `RegexRouter`). The syntax, its errors and their texts
 * are Java's (`java.util.regex.Pattern`), matching is done by the engine of this runtime.
 * @throws PatternSyntaxError with Java's message
 */
export function compileJavaPattern(text: string): JavaPattern {
  const {source, groups, names} = new JavaPatternParser(text).parse()
  const expression = new RegExp(`^(?:${source})$`, 'v')
  return {
    text,
    groupNames: names,
    match(input) {
      const found = expression.exec(input)
      if (found === null) return null
      return [found[0], ...Array.from({length: groups}, (_, index) => found.groups?.[`g${index + 1}`])]
    },
  }
}
