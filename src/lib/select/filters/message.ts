import {causeMessageOf} from '../../dialects/root-cause.ts'
import {badValue} from '../usage.ts'
import type {FilterDefinition} from './filter.ts'

/** Longest pattern; also bounds what a counted repetition can grow to. */
const LONGEST_PATTERN = 1000

export const messageFilter: FilterDefinition = {
  summary: 'Message of the exception or its root cause, searched with a regular expression (RE2).',
  placeholder: 'PATTERN',
  async compile(text, {flag}) {
    if (text.length > LONGEST_PATTERN) throw badValue(flag, text, `at most ${LONGEST_PATTERN} characters`)
    const {RE2JS} = await import('re2js')
    let found: (message: string | undefined) => boolean
    try {
      const pattern = RE2JS.compile(text)
      found = message => message !== undefined && pattern.matcher(message).find()
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace(/\s+/g, ' ') : String(error)
      throw badValue(flag, text, `not a regular expression: ${reason}`, [
        'RE2 syntax: no look-around and no back-references',
      ])
    }
    return {
      matches: ({failure: {exception, keyException}}) =>
        found(exception?.message) ||
        (exception !== undefined && found(causeMessageOf(exception))) ||
        found(keyException?.message),
      peek: null,
    }
  },
}
