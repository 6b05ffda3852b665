import * as Flags from '@oclif/core/flags'
import type {RunInput} from '../replay/run-input.ts'
import {parseCount} from '../select/values.ts'
import {durationFlag} from './flags.ts'

const maxFailedFlag = Flags.custom<MaxFailed>({
  parse: async (text, _, {name}) => parseMaxFailed(text, `--${name}`),
  helpValue: 'N|N%',
})

/** `--max-failed`: a number of records, or a share of what the plan sends. */
export type MaxFailed = {readonly records: number} | {readonly percent: number}

/** @throws UsageError naming the flag */
export function parseMaxFailed(text: string, flag: string): MaxFailed {
  if (!text.endsWith('%')) return {records: parseCount(text, flag)}
  return {percent: parseCount(text.slice(0, -1), flag, 100)}
}

/** Flags that end a run early. */
export const runLimitFlags = {
  'max-failed': maxFailedFlag({
    helpGroup: 'pace',
    summary: 'Stop when more records (or more than N% of the plan) failed, parked ones included; default never.',
  }),
  'max-duration': durationFlag({helpGroup: 'pace', summary: 'Stop after this time; exit 3 when something is left.'}),
}

/** Values of the flags that bound a run. */
export interface LimitFlags {
  readonly 'max-failed'?: MaxFailed | undefined
  readonly 'max-duration'?: number | undefined
}

/** How many records may fail; null = any number. */
export function toMaxFailed(flags: LimitFlags, toReplay: number): RunInput['maxFailed'] {
  const limit = flags['max-failed']
  if (limit === undefined) return null
  return 'records' in limit ? limit.records : Math.floor((toReplay * limit.percent) / 100)
}
