import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {headerMappingsOf} from '../lib/cli/config/settings.ts'
import {connectAddresses, connectUrlFlag} from '../lib/cli/connect-urls.ts'
import {DEFAULT_TIMEOUT_MS, readRateOf} from '../lib/cli/connection.ts'
import {toKdlqError} from '../lib/cli/error-report.ts'
import {connectionFlags, outputFlags} from '../lib/cli/flags.ts'
import {chooseColumns} from '../lib/cli/list-dead-letters.ts'
import {RecordCommand} from '../lib/cli/record-command.ts'
import type {ConnectAddress, Connector} from '../lib/connect-rest/connectors.ts'
import type {DiscoveredTopic, TopicWarning} from '../lib/dead-letter/discover/model.ts'
import {withHeaderMappings} from '../lib/dialects/families/custom.ts'
import {DIALECTS} from '../lib/dialects/registry.ts'
import {EXIT} from '../lib/errors.ts'
import {renderItems} from '../lib/render/formats.ts'
import {envelope} from '../lib/render/json.ts'
import {formatCount, plural} from '../lib/render/numbers.ts'
import {topicsView} from '../lib/render/topics-view.ts'
import {createGlob} from '../lib/select/glob.ts'

/** JSON contract of `topics`. */
export interface TopicsResult {
  /** By name. */
  readonly topics: readonly DiscoveredTopic[]
}

/** What to say about topics with a warning; those that the table explains by itself have none. */
const EXPLANATIONS: Partial<Record<TopicWarning, string>> = {
  missing: 'is configured and does not exist: what it is for is lost',
  compacted: 'is compacted: dead letters of one key overwrite each other',
  expiring: 'has dead letters that retention may delete at any time',
  'origins-expiring': 'points to records that retention has deleted or may delete at any time',
  'share-group-switch-off':
    'is not switched on for share groups (errors.deadletterqueue.group.enable): their dead letters are lost',
  'no-context-headers':
    'gets dead letters without a reason: set errors.deadletterqueue.context.headers.enable of its connector',
}

export default class Topics extends RecordCommand<TopicsResult> {
  static override summary = 'Find the dead letter topics of a cluster.'
  static override description = `Looks at names, at the newest records of each topic, at the configurations of sink connectors (with --connect-url) and of share groups. Says for each topic who writes to it, how deep it is, how it grows, and how long until retention may delete dead letters or the records that they point to. Retry topics are told from final ones.

Times and growth go by record time; Connect, Streams and Micronaut dead letters keep the time of their source record. Depth counts offsets, so it is an upper bound of the records. Nothing is changed and no consumer group is joined.

Exit codes: 0 done, also with nothing found; 3 a Connect worker or the share groups could not be asked, so that topics may be missing; 2, 4, 5 wrong use, not allowed, not reachable.`
  static override examples = [
    {
      description: 'Where dead letters are.',
      command: '<%= config.bin %> <%= command.id %> --bootstrap-server localhost:9092',
    },
    {
      description: 'With what Connect is configured to write, by names only for the rest.',
      command:
        "<%= config.bin %> <%= command.id %> --bootstrap-server localhost:9092 --connect-url http://localhost:8083 --pattern 'orders*' --no-peek",
    },
  ]
  static override flags = {
    pattern: Flags.string({
      helpGroup: 'selection',
      helpValue: 'GLOB',
      multiple: true,
      multipleNonGreedy: true,
      summary: "Only topics that match, such as '*-dlq'; default all.",
    }),
    'no-peek': Flags.boolean({
      helpGroup: 'selection',
      summary: 'Read no record: no dialects, times or origins from headers.',
    }),
    'connect-url': connectUrlFlag,
    ...connectionFlags,
    ...outputFlags,
  }

  async run(): Promise<TopicsResult> {
    const {flags} = await this.parse(Topics)
    const settings = await this.settings(flags.profile)
    const addresses = connectAddresses(flags['connect-url'], settings)
    const globs = (flags.pattern ?? []).map(createGlob)
    const columns = chooseColumns(topicsView, flags) ?? topicsView.defaultColumns
    await using cluster = await this.connect(flags)
    const connectors = await this.#connectors(addresses, flags.timeout ?? DEFAULT_TIMEOUT_MS)
    const {discoverTopics} = await import('../lib/dead-letter/discover/discover.ts')
    const unknown: unknown[] = []
    const topics = await discoverTopics(
      {cluster, clock: this.clock},
      {
        matches: topic => globs.length === 0 || globs.some(glob => glob.matches(topic)),
        peek: !flags['no-peek'],
        connectors,
        readRate: readRateOf(flags, settings),
        dialects: withHeaderMappings(headerMappingsOf(settings), DIALECTS),
        onUnknownGroups: error => void unknown.push(error),
      },
      {signal: this.signal},
    )
    for (const error of unknown) await this.#missing(`share groups could not be asked: ${toKdlqError(error).message}`)
    await this.#explain(topics)
    const format = outputFormat(flags)
    const context = this.renderContext({fit: !flags.wide})
    const result: TopicsResult = {topics}
    if (format === 'json')
      await this.print(envelope(this.commandName, {result, warnings: this.warnings}, context.forTerminal))
    else await this.printAll(renderItems(topics, topicsView, {format, columns, context}))
    const depth = topics.reduce((sum, topic) => sum + topic.depth, 0)
    await this.say(`${plural(topics.length, 'topic')}, at most ${formatCount(depth)} records`)
    const deepest = topics.toSorted((a, b) => b.depth - a.depth)[0]
    if (deepest !== undefined && deepest.depth > 0) await this.suggestNext(`kdlq stats ${deepest.topic}`)
    return result
  }

  async #connectors(addresses: readonly ConnectAddress[], timeoutMs: number): Promise<readonly Connector[]> {
    if (addresses.length === 0) return []
    const {readConnectors} = await import('../lib/connect-rest/connectors.ts')
    const connectors: Connector[] = []
    for (const address of addresses) {
      try {
        connectors.push(...(await readConnectors(address, {timeoutMs, signal: this.signal})))
      } catch (error) {
        this.signal.throwIfAborted()
        await this.#missing(toKdlqError(error).message)
      }
    }
    return connectors
  }

  /** The list is shorter than it should be. */
  async #missing(reason: string): Promise<void> {
    await this.warnUser(`topics may be missing: ${reason}`)
    this.setExitCode(EXIT.BAD_ANSWER)
  }

  async #explain(topics: readonly DiscoveredTopic[]): Promise<void> {
    for (const {topic, warnings} of topics) {
      for (const warning of warnings) {
        const text = EXPLANATIONS[warning]
        if (text !== undefined) await this.warnUser(`${topic} ${text}`)
      }
    }
  }
}
