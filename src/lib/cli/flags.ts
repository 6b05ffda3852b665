import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import {BugError} from '../errors.ts'
import {FILTER_NAMES, FILTERS, type FilterName} from '../select/filters/index.ts'
import {parseByteRate, parseCount, parseDuration} from '../select/values.ts'
import {environmentName} from './usage-errors.ts'

/** Formats of `--output`. */
export const OUTPUT_FORMATS = ['table', 'json', 'jsonl', 'csv', 'markdown'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/** A length of time, in ms. */
export const durationFlag = Flags.custom<number>({
  parse: async (text, _, {name}) => parseDuration(text, `--${name}`),
  helpValue: 'DURATION',
})
/** A flag that takes bytes a second; null = no bound. */
export const byteRateFlag = Flags.custom<number | null>({
  parse: async (text, _, {name}) => parseByteRate(text, `--${name}`),
  helpValue: 'BYTES/s',
})

/** A whole number, 0 allowed. */
export const countFlag = Flags.custom<number>({
  parse: async (text, _, {name}) => parseCount(text, `--${name}`),
  helpValue: 'N',
})

/** Flags of every command. */
export const commonFlags = {
  quiet: Flags.boolean({
    char: 'q',
    helpGroup: 'output',
    env: environmentName('quiet'),
    summary: 'No progress, notes or hints on stderr; errors stay.',
  }),
  verbose: Flags.boolean({
    char: 'v',
    helpGroup: 'output',
    env: environmentName('verbose'),
    summary: 'Say more on stderr: causes and stacks of errors.',
  }),
  'no-color': Flags.boolean({helpGroup: 'output', summary: 'No colour (also: NO_COLOR, TERM=dumb).'}),
}

/** How a cluster is reached. */
export const connectionFlags = {
  'bootstrap-server': Flags.string({
    char: 'b',
    helpGroup: 'connection',
    helpValue: 'HOST:PORT[,..]',
    env: environmentName('bootstrap-server'),
    summary: 'Brokers to ask first; IPv6 addresses in brackets.',
  }),
  profile: Flags.string({
    helpGroup: 'connection',
    helpValue: 'NAME',
    env: environmentName('profile'),
    summary: 'Profile of the configuration file (kdlq config list).',
  }),
  'command-config': Flags.string({
    helpGroup: 'connection',
    helpValue: 'FILE',
    env: environmentName('command-config'),
    summary: "Java client .properties file, as Kafka's own tools take it.",
  }),
  timeout: durationFlag({
    helpGroup: 'connection',
    env: environmentName('timeout'),
    summary: 'Give up on a cluster that does not answer; default 5s.',
  }),
  'client-id': Flags.string({
    helpGroup: 'connection',
    helpValue: 'ID',
    env: environmentName('client-id'),
    summary: "Name for quotas and the brokers' logs; default kdlq-<command>.",
  }),
  'schema-registry': Flags.string({
    helpGroup: 'connection',
    helpValue: 'URL[,..]',
    env: environmentName('schema-registry'),
    summary: 'Schema registry for --decode and --where; passwords stand in a profile.',
  }),
  'read-rate': byteRateFlag({
    helpGroup: 'connection',
    env: environmentName('read-rate'),
    summary: 'Read at most so many bytes a second; default no bound.',
  }),
}

/** Which records of the sources are read. */
export const selectionFlags = {
  partition: Flags.string({
    helpGroup: 'selection',
    helpValue: '0,3-5',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Only these partitions; default all.',
  }),
  from: Flags.string({
    helpGroup: 'selection',
    helpValue: 'POSITION',
    exclusive: ['since'],
    summary: 'start, end, end-N, OFFSET, @TIME, group:ID or baseline:FILE; default start.',
  }),
  to: Flags.string({
    helpGroup: 'selection',
    helpValue: 'POSITION',
    exclusive: ['until'],
    summary: 'As --from, exclusive; default end, as it is when the command starts.',
  }),
  since: Flags.string({
    helpGroup: 'selection',
    helpValue: 'DURATION',
    summary: 'Short for --from @-DURATION, e.g. 2h; by record timestamp.',
  }),
  until: Flags.string({
    helpGroup: 'selection',
    helpValue: 'DURATION',
    summary: 'Short for --to @-DURATION, e.g. 30m; by record timestamp.',
  }),
  limit: countFlag({
    char: 'n',
    helpGroup: 'selection',
    exclusive: ['tail'],
    summary: 'Stop after N matching records in total; 0 = all.',
  }),
  tail: countFlag({
    helpGroup: 'selection',
    summary: 'Only the last N matching records over all partitions, by timestamp.',
  }),
  'isolation-level': Flags.option({
    options: ['read_committed', 'read_uncommitted'] as const,
    helpGroup: 'selection',
    env: environmentName('isolation-level'),
    summary: 'Leave out records of aborted transactions or not; default read_committed.',
  })(),
  'skip-bad-lines': Flags.boolean({
    helpGroup: 'selection',
    summary: 'Count broken lines of an archive and go on (exit 3).',
  }),
}

type FilterFlag = ReturnType<typeof filterFlag>
type FilterFlagName = FilterName | `not-${FilterName}`

/** Repeatable; never swallows what follows its value. */
const filterFlag = (summary: string, helpValue: string, hidden: boolean) =>
  Flags.string({summary, helpValue, hidden, multiple: true, multipleNonGreedy: true, helpGroup: 'filter'})

/**
 * Filters over the failure and the record, from the table of lib/select. Values of one flag are alternatives,
 * flags together narrow; each has a hidden `--not-` twin, named in one line of the help.
 */
export const filterFlags: Record<FilterFlagName, FilterFlag> = createFilterFlags()

function createFilterFlags(): Record<FilterFlagName, FilterFlag> {
  const flags: Record<string, FilterFlag> = {}
  for (const name of FILTER_NAMES) flags[name] = filterFlag(FILTERS[name].summary, FILTERS[name].placeholder, false)
  for (const name of FILTER_NAMES) {
    flags[`not-${name}`] = filterFlag(`Leave out what --${name} would match.`, FILTERS[name].placeholder, true)
  }
  if (!isComplete(flags)) throw new BugError('a filter has no flag')
  return flags
}

function isComplete(flags: Record<string, FilterFlag>): flags is Record<FilterFlagName, FilterFlag> {
  return FILTER_NAMES.every(name => Object.hasOwn(flags, name) && Object.hasOwn(flags, `not-${name}`))
}

/** How the answer is printed. */
export const outputFlags = {
  output: Flags.option({
    char: 'o',
    options: OUTPUT_FORMATS,
    helpGroup: 'output',
    env: environmentName('output'),
    summary: 'Format of the answer; default table.',
  })(),
  json: Flags.boolean({helpGroup: 'output', exclusive: ['output'], summary: 'Short for --output json.'}),
  columns: Flags.string({
    helpGroup: 'output',
    helpValue: 'a,b,c',
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    summary: 'Columns of table, csv and markdown, in this order.',
  }),
  wide: Flags.boolean({helpGroup: 'output', summary: 'All columns.'}),
}

/** Output of commands that have no columns to choose from. */
export const documentFlags = {output: outputFlags.output, json: outputFlags.json}

/** Consent; no environment variable and no configuration can give it. */
export const writingFlags = {
  'dry-run': Flags.boolean({helpGroup: 'writing', summary: 'Show what would be written, write nothing.'}),
  yes: Flags.boolean({char: 'y', helpGroup: 'writing', summary: 'Do not ask.'}),
  reason: Flags.string({helpGroup: 'writing', helpValue: 'TEXT', summary: 'Why, for the records of this run.'}),
}

/** Flags that no environment variable and no configuration may set: they give consent. */
export const CONSENT_FLAGS: readonly string[] = [
  'yes',
  'allow',
  'skip',
  'force',
  'take-over',
  'resend-unknown',
  'dry-run',
]

/** `SOURCE...` */
export const sourceArgs = {
  source: Args.string({
    multiple: true,
    required: true,
    ignoreStdin: true,
    description:
      "Topic, quoted pattern ('*-dlq'), topic:partition:offset, archive path, example:NAME, or - for an archive on stdin.",
  }),
}
