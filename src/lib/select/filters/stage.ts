import {didYouMean} from '../../suggest.ts'
import {badValue} from '../usage.ts'
import type {FilterDefinition} from './filter.ts'
import {peekMention} from './raw.ts'

export const stageFilter: FilterDefinition = {
  summary: 'Stage that failed, such as VALUE_CONVERTER or deserialize-value.',
  placeholder: 'STAGE',
  compile(text, {flag, stages}) {
    if (!stages.includes(text)) {
      throw badValue(flag, text, `known stages are ${stages.join(', ')}`, didYouMean(text, stages))
    }
    return {
      matches: ({failure}) => failure.stage === text,
      // Connect's constants stand in a header as they are; the words in small letters are conclusions of ours.
      peek: /^[A-Z_]+$/.test(text) ? peekMention(text) : null,
    }
  },
}
