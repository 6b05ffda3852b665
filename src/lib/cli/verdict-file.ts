import {readFile} from 'node:fs/promises'
import {type VerdictRule, VERDICTS} from '../dead-letter/verdict-rules.ts'
import {ConfigError} from '../errors.ts'
import {didYouMean} from '../suggest.ts'
import {isRecord} from './guards.ts'

const MEMBERS = ['verdict', 'reason', 'exception', 'stage', 'message', 'fingerprint'] as const
const CONDITIONS = ['exception', 'stage', 'message', 'fingerprint'] as const
/** Longest pattern; also bounds what a counted repetition can grow to. */
const LONGEST_PATTERN = 1000
const MOST_RULES = 1000

/**
 * Rules of a `--verdicts` file: YAML or JSON, a list of `{verdict, reason?, exception?, stage?, message?, fingerprint?}`, each
 * condition one text or a list of them; `message` is an RE2 pattern.
 * @throws ConfigError naming the rule
 */
export async function readVerdictFile(path: string): Promise<readonly VerdictRule[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`the verdicts ${path} cannot be read`, {cause: error, context: {file: path}})
  }
  // The default export: a bundle has no named ones of a CommonJS package.
  const {default: yaml} = await import('yaml')
  let content: unknown
  try {
    content = yaml.parse(text, {maxAliasCount: 100})
  } catch (error) {
    throw new ConfigError(`${path} is neither YAML nor JSON`, {cause: error, context: {file: path}})
  }
  if (content === null || content === undefined) return []
  if (!Array.isArray(content)) throw wrong(path, null, 'a list of rules is expected')
  if (content.length > MOST_RULES) throw wrong(path, null, `at most ${MOST_RULES} rules`)
  const rules: VerdictRule[] = []
  for (const [index, rule] of content.entries()) rules.push(await toRule(rule, path, index + 1))
  return rules
}

async function toRule(rule: unknown, path: string, number: number): Promise<VerdictRule> {
  if (!isRecord(rule)) throw wrong(path, number, 'a map of keys is expected')
  const unknown = Object.keys(rule).find(name => !MEMBERS.some(known => known === name))
  if (unknown !== undefined) {
    const near = didYouMean(unknown, MEMBERS)
    throw wrong(path, number, `unknown key ${unknown}`, near.length > 0 ? near : [`known here: ${MEMBERS.join(', ')}`])
  }
  const verdict = VERDICTS.find(word => word === rule['verdict'])
  if (verdict === undefined) throw wrong(path, number, `verdict has to be one of ${VERDICTS.join(', ')}`)
  const reason = rule['reason'] ?? 'by your own rule'
  if (typeof reason !== 'string') throw wrong(path, number, 'reason has to be a text')
  if (!CONDITIONS.some(name => rule[name] !== undefined)) {
    throw wrong(path, number, `a condition is missing`, [`give one or more of ${CONDITIONS.join(', ')}`])
  }
  const texts = (name: (typeof CONDITIONS)[number]): readonly string[] | undefined => {
    const value = rule[name]
    if (value === undefined) return undefined
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    const words = list.filter(word => typeof word === 'string' && word !== '')
    if (words.length === 0 || words.length < list.length) {
      throw wrong(path, number, `${name} has to be a text or a list of texts`)
    }
    return words.map(String)
  }
  const [exceptions, stages, patterns, fingerprints] = CONDITIONS.map(texts)
  const messages = patterns === undefined ? undefined : await compilePatterns(patterns, path, number)
  return {
    verdict,
    reason,
    ...(exceptions === undefined ? {} : {exceptions}),
    ...(stages === undefined ? {} : {stages}),
    ...(messages === undefined ? {} : {messages}),
    ...(fingerprints === undefined ? {} : {fingerprints}),
  }
}

async function compilePatterns(
  patterns: readonly string[],
  path: string,
  number: number,
): Promise<readonly ((message: string) => boolean)[]> {
  const {RE2JS} = await import('re2js')
  return patterns.map(text => {
    if (text.length > LONGEST_PATTERN) throw wrong(path, number, `message has more than ${LONGEST_PATTERN} characters`)
    try {
      const pattern = RE2JS.compile(text)
      return (message: string) => pattern.matcher(message).find()
    } catch (error) {
      throw wrong(path, number, 'message is not a regular expression', [
        'RE2 syntax: no look-around and no back-references',
        ...(error instanceof Error ? [error.message] : []),
      ])
    }
  })
}

function wrong(path: string, number: number | null, what: string, hints: readonly string[] = []): ConfigError {
  const where = number === null ? path : `${path}: rule ${number}`
  return new ConfigError(`${where}: ${what}`, {hints, context: {file: path}})
}
