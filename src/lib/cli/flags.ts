import {Args, Flags} from '@oclif/core'
import {parseByteRate, parseCount, parseDuration} from '../select/values.ts'
import {environmentName} from './usage-errors.ts'

/** Formats of `--output`. */
export const OUTPUT_FORMATS = ['table', 'json', 'jsonl', 'csv', 'markdown'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

const durationFlag = Flags.custom<number>({
  parse: async (text, _, {name}) => parseDuration(text, `--${name}`),
  helpValue: 'DURATION',
})
const byteRateFlag = Flags.custom<number | null>({
  parse: async (text, _, {name}) => parseByteRate(text, `--${name}`),
  helpValue: 'BYTES/s',
})

/** A whole number, 0 allowed. */
export const countFlag = Flags.custom<number>({
  parse: async (text, _, {name}) => parseCount(text, `--${name}`),
  helpValue: 'N',
})

/** A repeatable text flag; never swallows what follows its value. */
const texts = (summary: string, helpValue: string) =>
  Flags.string({summary, helpValue, multiple: true, multipleNonGreedy: true, helpGroup: 'filter'})

/** The `--not-` twin of a filter: hidden, named in one line of the help. */
const not = (name: string, helpValue: string) =>
  Flags.string({
    summary: `Leave out what --${name} would match.`,
    helpValue,
    multiple: true,
    multipleNonGreedy: true,
    hidden: true,
    helpGroup: 'filter',
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

/**
 * Filters over the failure and the record. The same flag twice means or, different flags mean and; each has a `--not-`
 * twin.
 */
export const filterFlags = {
  stage: texts("Stage that failed: Connect's constants or another dialect's word.", 'STAGE'),
  exception: texts('Exception class or root cause: full name, simple name or glob.', 'NAME'),
  message: texts('Regular expression (linear time) searched in the exception message.', 'PATTERN'),
  connector: texts('Connector name or glob.', 'NAME'),
  task: texts('Task number of the connector.', 'N'),
  group: texts('Consumer group or glob.', 'ID'),
  app: texts('Application id or glob.', 'ID'),
  dialect: texts('Header family: connect, spring, streams, ... or none.', 'ID'),
  origin: texts('Where the record failed first: TOPIC[:PARTITION[:OFFSET|FROM..TO]].', 'ORIGIN'),
  key: texts('Record key: text, or bytes as 0xHEX.', 'KEY'),
  header: texts('Record header: NAME, or NAME=VALUE.', 'NAME[=VALUE]'),
  fingerprint: texts('Failure fingerprint, as stats prints it.', 'ID'),
  attempts: texts("Failed attempts: 3, '>=3', '<10'.", 'N'),
  where: texts('CEL expression over the fields of the JSON output, plus value and key decoded.', 'EXPR'),
  'not-stage': not('stage', 'STAGE'),
  'not-exception': not('exception', 'NAME'),
  'not-message': not('message', 'PATTERN'),
  'not-connector': not('connector', 'NAME'),
  'not-task': not('task', 'N'),
  'not-group': not('group', 'ID'),
  'not-app': not('app', 'ID'),
  'not-dialect': not('dialect', 'ID'),
  'not-origin': not('origin', 'ORIGIN'),
  'not-key': not('key', 'KEY'),
  'not-header': not('header', 'NAME[=VALUE]'),
  'not-fingerprint': not('fingerprint', 'ID'),
  'not-attempts': not('attempts', 'N'),
  'not-where': not('where', 'EXPR'),
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
