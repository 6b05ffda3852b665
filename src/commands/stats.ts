import {readFile} from 'node:fs/promises'
import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {formatBaseline, parseBaseline} from '../lib/cli/baseline.ts'
import {connectionFlags, countFlag, filterFlags, outputFlags, selectionFlags, sourceArgs} from '../lib/cli/flags.ts'
import {chooseColumns} from '../lib/cli/list-dead-letters.ts'
import {LookCommand, lookFlags} from '../lib/cli/look-command.ts'
import {replaceFile} from '../lib/cli/replace-file.ts'
import {unknownWord} from '../lib/cli/usage-errors.ts'
import {GROUP_KEYS, type GroupKey, isGroupKey} from '../lib/dead-letter/group-keys.ts'
import type {PartitionScan} from '../lib/dead-letter/model.ts'
import {createStatistics, type DeadLetterStatistics} from '../lib/dead-letter/statistics.ts'
import {renderHistogram} from '../lib/render/chart.ts'
import {renderItems} from '../lib/render/formats.ts'
import {createGroupView, type GroupRow} from '../lib/render/group-view.ts'
import {envelope} from '../lib/render/json.ts'
import {formatBytes, plural} from '../lib/render/numbers.ts'

export interface StatsResult extends Omit<DeadLetterStatistics, 'groups'> {
  /** By count, largest first. */
  readonly groups: readonly GroupRow[]
  readonly scanned: readonly PartitionScan[]
}

export default class Stats extends LookCommand<StatsResult> {
  static override summary = 'Group dead letters by kind of failure.'
  static override description = `Counts dead letters by fingerprint (a stable id of stage, root cause, message and place in the code) or by other words, with share, first and last time, an example, a histogram over record time, and bytes of payload and headers.

--by takes ${Object.keys(GROUP_KEYS).join(', ')}.

--save-baseline keeps where the topics end and how large the groups are; --baseline compares with it: new, grown, same, gone. The same file serves --from baseline:FILE.

Exit codes: 0 done; 3 a partition could not be read to its end; 6 there is no such ledger; 2, 4, 5 wrong use, not allowed, not reachable.`
  static override examples = [
    {
      description: 'What fails most, and why.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --bootstrap-server localhost:9092',
    },
    {
      description: 'By stage and exception, without a cluster.',
      command: '<%= config.bin %> <%= command.id %> example:orders-dlq --by stage,exception',
    },
    {
      description: 'The largest five groups as JSON.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --top 5 --json',
    },
  ]
  static override args = {...sourceArgs}
  static override flags = {
    ...selectionFlags,
    ...filterFlags,
    ...lookFlags,
    ...connectionFlags,
    ...outputFlags,
    by: Flags.string({
      helpValue: 'WORD[,..]',
      helpGroup: 'grouping',
      multiple: true,
      multipleNonGreedy: true,
      delimiter: ',',
      summary: 'What makes a group; default fingerprint.',
    }),
    top: countFlag({helpGroup: 'grouping', summary: 'Only the N largest groups; default all.'}),
    baseline: Flags.string({helpGroup: 'grouping', helpValue: 'FILE', summary: 'Compare with groups saved before.'}),
    'save-baseline': Flags.string({
      helpGroup: 'grouping',
      helpValue: 'FILE',
      summary: 'Save ends and groups for a later comparison.',
    }),
  }

  async run(): Promise<StatsResult> {
    const {args, flags} = await this.parse(Stats)
    const by = toGroupKeys(flags.by ?? ['fingerprint'])
    const view = createGroupView(by, {compared: flags.baseline !== undefined})
    const columns = chooseColumns(view, flags) ?? view.defaultColumns
    const baseline =
      flags.baseline === undefined ? null : parseBaseline(await readFile(flags.baseline, 'utf8'), flags.baseline)
    const request = await this.request(args.source, flags)
    await using cluster = await this.open(request, flags)
    const statistics = createStatistics({by})
    const {scan} = await this.look(cluster, await this.freeze(cluster, request), flags)
    for await (const deadLetter of scan) statistics.add(deadLetter)
    const report = statistics.report()
    const scanned = scan.scanned()
    const all = baseline === null ? report.groups : compare(report.groups, baseline.groups)
    const groups = flags.top === undefined ? all : all.slice(0, flags.top)
    const result: StatsResult = {...report, groups, scanned}
    if (flags['save-baseline'] !== undefined) await this.saveBaseline(flags['save-baseline'], result, report.groups)
    const format = outputFormat(flags)
    const context = this.renderContext({fit: !flags.wide})
    if (format === 'json')
      await this.print(
        envelope(this.commandName, {result, warnings: this.documentWarnings(scanned)}, context.forTerminal),
      )
    else await this.printAll(renderItems(groups, view, {format, columns, context}))
    if (format === 'table' && report.histogram.length > 0) {
      await this.print('\n')
      await this.printAll(renderHistogram(report.histogram, context))
    }
    await this.sayTotals(result, all.length - groups.length)
    await this.closeScan(scanned, report.total)
    const [first] = groups
    if (first !== undefined && first.count > 0)
      await this.suggestNext(`kdlq show ${first.example}${this.archiveHint(request)}`)
    return result
  }

  private async saveBaseline(path: string, {scanned}: StatsResult, groups: readonly GroupRow[]): Promise<void> {
    const counts = new Map(groups.map(group => [JSON.stringify(group.by), group.count]))
    await replaceFile(path, formatBaseline(scanned, counts, this.clock.now()))
    await this.say(`baseline saved to ${path}`)
  }

  private async sayTotals(
    {bytes, undescribed, ungrouped, withoutTimestamp}: StatsResult,
    hidden: number,
  ): Promise<void> {
    await this.say(`payload ${formatBytes(bytes.key + bytes.value)}, headers ${formatBytes(bytes.headers)}`)
    if (hidden > 0) await this.say(`${plural(hidden, 'more group')} not shown because of --top`)
    if (undescribed > 0) await this.say(`${plural(undescribed, 'record')} without known error headers`)
    if (withoutTimestamp > 0)
      await this.say(`${plural(withoutTimestamp, 'record')} without a time, not in the histogram`)
    if (ungrouped > 0)
      await this.warnUser(
        `${plural(ungrouped, 'record')} beyond 10,000 groups are counted and not grouped: choose fewer words for --by`,
      )
  }
}

function toGroupKeys(words: readonly string[]): readonly GroupKey[] {
  return words.map(word => {
    if (!isGroupKey(word)) throw unknownWord('word of --by', word, Object.keys(GROUP_KEYS))
    return word
  })
}

function compare(groups: readonly GroupRow[], before: Readonly<Record<string, number>>): readonly GroupRow[] {
  const seen = new Set<string>()
  const compared = groups.map((group): GroupRow => {
    const id = JSON.stringify(group.by)
    seen.add(id)
    const count = Object.hasOwn(before, id) ? before[id] : undefined
    if (count === undefined) return {...group, change: 'new'}
    return {...group, change: group.count > count ? 'grown' : 'same'}
  })
  const gone = Object.keys(before).filter(id => !seen.has(id))
  return [...compared, ...gone.flatMap(goneGroup)]
}

/** A group of the baseline without records now. */
function goneGroup(id: string): readonly GroupRow[] {
  const by: unknown = JSON.parse(id)
  if (typeof by !== 'object' || by === null) return []
  const values = Object.fromEntries(
    Object.entries(by).map(([word, value]) => [
      word,
      typeof value === 'number' || typeof value === 'string' ? value : null,
    ]),
  )
  return [
    {
      by: values,
      count: 0,
      share: 0,
      firstSeen: null,
      lastSeen: null,
      example: '',
      bytes: {key: 0, value: 0, headers: 0},
      sample: {stage: null, exception: null, message: null, cause: null, causeMessage: null},
      change: 'gone',
    },
  ]
}
