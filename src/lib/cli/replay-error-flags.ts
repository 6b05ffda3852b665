import * as Flags from '@oclif/core/flags'
import {UsageError} from '../errors.ts'
import {isLegalTopicName} from '../kafka/record.ts'
import {DEFAULT_ERRORS} from '../replay/plan.ts'
import type {PlanErrors} from '../replay/plan.ts'
import {parseDuration} from '../select/values.ts'

const timeFlag = Flags.custom<number>({
  parse: async (text, _, {name}) => parseDuration(text, `--${name}`, {bareMs: true}),
  helpValue: 'DURATION',
})
const timeoutFlag = Flags.custom<number>({
  parse: async (text, _, {name}) => parseDuration(text, `--${name}`, {bareMs: true, minusOne: true}),
  helpValue: 'DURATION',
})

/** How failures are handled: `errors.*` of a connector, under Connect's meaning. A plan holds them; flags of a later run win. */
export const errorFlags = {
  'errors-tolerance': Flags.option({
    options: ['all', 'none'] as const,
    helpGroup: 'failure',
    summary: 'Go on behind a failed record (all, default) or stop at the first one (none).',
  })(),
  'errors-retry-timeout': timeoutFlag({
    helpGroup: 'failure',
    summary:
      'Repeat a step that fails with a retriable error for so long; default 0, -1 = without end. A number is ms.',
  }),
  'errors-retry-delay-max': timeFlag({
    helpGroup: 'failure',
    summary: 'Longest pause between two attempts; default 60s.',
  }),
  'errors-log': Flags.boolean({helpGroup: 'failure', summary: 'Log each failure on stderr, as Connect words it.'}),
  'errors-log-include-messages': Flags.boolean({
    helpGroup: 'failure',
    summary: 'Log where the dead letter is, too; never what it holds.',
  }),
  'errors-log-file': Flags.string({
    helpGroup: 'failure',
    helpValue: 'FILE',
    summary: 'Append the log to a file instead; as --errors-log.',
  }),
}

/** Values of `errorFlags`. */
export interface ErrorFlags {
  readonly 'errors-tolerance'?: 'all' | 'none' | undefined
  readonly 'errors-retry-timeout'?: number | undefined
  readonly 'errors-retry-delay-max'?: number | undefined
  readonly 'errors-log'?: boolean | undefined
  readonly 'errors-log-include-messages'?: boolean | undefined
  readonly 'errors-log-file'?: string | undefined
}

/**
 * The error handling of a run.
 * @param base of the plan that is executed; left out = nothing was said before
 * @throws UsageError for a pause of nothing
 */
export function toErrors(flags: ErrorFlags, base: PlanErrors = DEFAULT_ERRORS): PlanErrors {
  const {'errors-retry-timeout': timeout, 'errors-retry-delay-max': delay} = flags
  if (delay === 0) throw new UsageError('--errors-retry-delay-max must be at least 1ms')
  return {
    tolerance: flags['errors-tolerance'] ?? base.tolerance,
    retryTimeoutMs: timeout === undefined ? base.retryTimeoutMs : String(timeout),
    retryDelayMaxMs: delay === undefined ? base.retryDelayMaxMs : String(delay),
    log: base.log || flags['errors-log'] === true || flags['errors-log-file'] !== undefined,
    logIncludeMessages: base.logIncludeMessages || flags['errors-log-include-messages'] === true,
  }
}

/**
 * The parking topic of the flag, else of the setting `parkingTopic`; null = none, which an empty name says too.
 * @throws UsageError for a name that no topic can have
 */
export function toParkingTopic(flag: string | undefined, setting: string | null): string | null {
  const name = (flag ?? setting ?? '').trim()
  if (name === '') return null
  if (isLegalTopicName(name)) return name
  const from = flag === undefined ? 'parkingTopic of the configuration' : '--parking-topic'
  throw new UsageError(`${from} is no legal topic name: ${JSON.stringify(name)}`, {
    hints: ['letters, digits, dot, underscore and hyphen, at most 249 of them'],
  })
}
