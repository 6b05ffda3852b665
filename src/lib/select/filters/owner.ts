import type {Failure} from '../../dialects/model.ts'
import {createGlob, isGlob} from '../glob.ts'
import {badValue} from '../usage.ts'
import type {FilterDefinition} from './filter.ts'
import {peekMention} from './raw.ts'

function ownerFilter(
  summary: string,
  read: (failure: Failure) => string | undefined,
  isInHeaders: boolean,
): FilterDefinition {
  return {
    summary,
    placeholder: 'NAME',
    compile(text, {flag}) {
      if (text === '') throw badValue(flag, text, 'give a name or a glob')
      const glob = isGlob(text) ? createGlob(text) : null
      return {
        matches: ({failure}) => {
          const name = read(failure)
          return name !== undefined && (glob?.matches(name) ?? name === text)
        },
        peek: isInHeaders ? peekMention(glob?.longestLiteral ?? text) : null,
      }
    },
  }
}

// Connect writes its name into a header; a group or application may be a conclusion from the topic's name.
export const connectorFilter = ownerFilter('Connector that failed: name or glob.', failure => failure.connector, true)
export const groupFilter = ownerFilter('Consumer group that failed: name or glob.', failure => failure.group, false)
export const appFilter = ownerFilter('Application that failed: id or glob.', failure => failure.app, false)

export const taskFilter: FilterDefinition = {
  summary: 'Task that failed: a number (Connect) or such as 0_1 (Streams).',
  placeholder: 'TASK',
  compile(text, {flag}) {
    if (!/^[0-9]{1,10}(?:_[0-9]{1,10})?$/.test(text)) throw badValue(flag, text, 'give a task such as 0 or 0_1')
    const task = text.includes('_') ? null : Number(text)
    return {
      matches: ({failure}) => (task === null ? failure.taskId === text : failure.task === task),
      peek: null,
    }
  },
}

export const dialectFilter: FilterDefinition = {
  summary: 'Header family of the failure, such as connect or spring-dlt.',
  placeholder: 'ID',
  compile(text, {flag, dialects}) {
    if (!dialects.includes(text)) throw badValue(flag, text, `known dialects are ${dialects.join(', ')}`)
    return {
      matches: ({failure}) => failure.dialect === text || failure.chain?.includes(text) === true,
      peek: null,
    }
  },
}
