import {headlineOf} from '../../dialects/root-cause.ts'
import {createGlob, isGlob} from '../glob.ts'
import {badValue} from '../usage.ts'
import type {FilterDefinition} from './filter.ts'
import {peekMention} from './raw.ts'

export const exceptionFilter: FilterDefinition = {
  summary: 'Exception class or root cause: full name, simple name or glob.',
  placeholder: 'NAME',
  compile(text, {flag}) {
    if (text === '') throw badValue(flag, text, 'give a class name or a glob such as *DataException')
    const glob = isGlob(text) ? createGlob(text) : null
    const isMatch = (name: string): boolean => glob?.matches(name) ?? name === text
    const names = (full: string | undefined): boolean =>
      full !== undefined && (isMatch(full) || isMatch(behind(full, '.')) || isMatch(behind(full, '$')))
    return {
      matches: ({failure: {exception, keyException}}) =>
        names(exception?.class) ||
        names(exception?.cause) ||
        names(headlineOf(exception).class ?? undefined) ||
        names(keyException?.class),
      peek: peekMention(glob?.longestLiteral ?? text),
    }
  },
}

function behind(name: string, separator: string): string {
  return name.slice(name.lastIndexOf(separator) + 1)
}
