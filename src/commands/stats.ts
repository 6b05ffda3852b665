import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {connectionFlags, countFlag, filterFlags, outputFlags, selectionFlags, sourceArgs} from '../lib/cli/flags.ts'
import {decorationOf} from '../lib/cli/io.ts'
import {chooseColumns} from '../lib/cli/list-dead-letters.ts'
import {LookCommand, lookFlags} from '../lib/cli/look-command.ts'
import {readBaselineFile} from '../lib/cli/record-command.ts'
import {replaceFile} from '../lib/cli/replace-file.ts'
import {environmentName, unknownWord} from '../lib/cli/usage-errors.ts'
import {readVerdictFile} from '../lib/cli/verdict-file.ts'
import {
  type Baseline,
  type BaselinePlace,
  compareWithBaseline,
  formatBaseline,
  otherFilters,
  strangeness,
} from '../lib/dead-letter/baseline.ts'
import {GROUP_KEYS, type GroupKey, isGroupKey} from '../lib/dead-letter/group-keys.ts'
import type {PartitionScan} from '../lib/dead-letter/model.ts'
import {createStatistics, type DeadLetterStatistics} from '../lib/dead-letter/statistics.ts'
import {createJudge} from '../lib/dead-letter/verdict.ts'
import type {Cluster} from '../lib/kafka/ports.ts'
import {renderBars, renderHistogram} from '../lib/render/chart.ts'
import type {StatsPage} from '../lib/render/html-stats.ts'
import {renderItems} from '../lib/render/formats.ts'
import {createGroupView, groupLabel, type GroupRow} from '../lib/render/group-view.ts'
import {envelope} from '../lib/render/json.ts'
import {formatBytes, plural} from '../lib/render/numbers.ts'
import type {FrozenSelection} from '../lib/select/selection.ts'

export interface StatsResult extends Omit<DeadLetterStatistics, 'groups'> {
  /** By count, largest first. */
  readonly groups: readonly GroupRow[]
  readonly scanned: readonly PartitionScan[]
}

export default class Stats extends LookCommand<StatsResult> {
  static override summary = 'Group dead letters by kind of failure.'
  static override description = `Counts dead letters by fingerprint (a stable id of stage, root cause, message and place in the code) or by other words, with share, first and last time, an example, a histogram over record time, and bytes of payload and headers.

--by takes ${Object.keys(GROUP_KEYS).join(', ')}.

A verdict says what a replay can do: transient (it may pass by itself later), needs-fix (of code, configuration or data), never (the record cannot be read). --verdicts names own rules.

--save-baseline keeps where the topics end and how large the groups are; --baseline compares with it: new, grown, same, gone. The same file serves --from baseline:FILE.

--html writes the same groups and charts as one page that needs nothing from anywhere.

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
    verdicts: Flags.string({
      helpGroup: 'grouping',
      helpValue: 'FILE',
      env: environmentName('verdicts'),
      summary: 'Own rules for verdicts (YAML), before the built-in ones.',
    }),
    html: Flags.string({helpGroup: 'output', helpValue: 'FILE', summary: 'Write a page with groups and charts.'}),
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
    const baseline = flags.baseline === undefined ? null : await readBaselineFile(flags.baseline)
    const judge = createJudge(flags.verdicts === undefined ? [] : await readVerdictFile(flags.verdicts))
    const request = await this.request(args.source, flags)
    await using cluster = await this.open(request, flags)
    const frozen = await this.freeze(cluster, request)
    const place = placeOf(cluster, frozen)
    const filters = filtersOf(flags)
    if (baseline !== null) await this.sayStrangeness(baseline, place, filters, flags.baseline ?? '')
    const comparison = {by, file: flags.baseline ?? '', onlyLater: request.selection.from.kind === 'baseline'}
    // Words that do not fit are told before anything is read.
    if (baseline !== null) compareWithBaseline([], baseline, comparison)
    const statistics = createStatistics({by, judge})
    const {scan} = await this.look(cluster, frozen, flags)
    for await (const deadLetter of scan) statistics.add(deadLetter)
    const report = statistics.report()
    const scanned = scan.scanned()
    const all: readonly GroupRow[] =
      baseline === null ? report.groups : compareWithBaseline(report.groups, baseline, comparison)
    const groups = flags.top === undefined ? all : all.slice(0, flags.top)
    const result: StatsResult = {...report, groups, scanned}
    if (flags['save-baseline'] !== undefined) {
      const saved = {scanned, groups: report.groups, by, filters}
      await replaceFile(flags['save-baseline'], formatBaseline(saved, place, this.clock.now()))
      await this.say(`baseline saved to ${flags['save-baseline']}`)
    }
    const hiddenGroups = all.length - groups.length
    if (flags.html !== undefined) await this.writePage(flags.html, {...result, by, hiddenGroups, sources: args.source})
    const format = outputFormat(flags)
    const context = this.renderContext({fit: !flags.wide})
    if (format === 'json')
      await this.print(
        envelope(this.commandName, {result, warnings: this.documentWarnings(scanned)}, context.forTerminal),
      )
    else await this.printAll(renderItems(groups, view, {format, columns, context}))
    if (format === 'table') await this.printCharts(result, by)
    await this.sayTotals(result, hiddenGroups)
    await this.closeScan(scanned, report.total)
    const [first] = groups
    if (first !== undefined && first.count > 0)
      await this.suggestNext(`kdlq show ${first.example}${this.archiveHint(request)}`)
    return result
  }

  /** Bars of the groups, and counts over time; plain ASCII where colour or Unicode is off. */
  private async printCharts({groups, histogram}: StatsResult, by: readonly GroupKey[]): Promise<void> {
    const {colour} = decorationOf(this.io, 'stdout', this.runtime.report.noColor)
    const context = this.renderContext()
    const charts = {...context, unicode: context.unicode && colour > 0}
    const bars = groups.map(group => ({label: groupLabel(group, by), count: group.count, share: group.share}))
    for (const chart of [[...renderBars(bars, charts)], [...renderHistogram(histogram, charts)]]) {
      if (chart.length > 0) await this.printAll(['\n', ...chart])
    }
  }

  private async writePage(
    path: string,
    page: StatsResult & Pick<StatsPage, 'by' | 'hiddenGroups' | 'sources'>,
  ): Promise<void> {
    const {renderStatsPage} = await import('../lib/render/html-stats.ts')
    const warnings = this.documentWarnings(page.scanned)
    await replaceFile(path, renderStatsPage({...page, warnings, nowMs: this.clock.now()}))
    await this.say(`page written to ${path}`)
  }

  private async sayStrangeness(
    baseline: Baseline,
    place: BaselinePlace,
    filters: readonly string[],
    path: string,
  ): Promise<void> {
    for (const strange of [strangeness(baseline, place), otherFilters(baseline, filters)]) {
      if (strange !== null) await this.warnUser(`baseline ${path}: ${strange}; groups are compared all the same`)
    }
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

/** The flags that leave records out, as they would be written; `--from baseline:FILE` only bounds them. */
function filtersOf(flags: Readonly<Record<string, unknown>>): readonly string[] {
  const names = [...Object.keys(selectionFlags), ...Object.keys(filterFlags), 'handled']
  return names.flatMap(name => {
    const given = flags[name]
    const values: readonly unknown[] = Array.isArray(given) ? given : given === undefined ? [] : [given]
    return values
      .filter(value => value !== false && !(name === 'from' && String(value).startsWith('baseline:')))
      .map(value => `--${name}=${String(value)}`)
  })
}

function placeOf({description}: Cluster, {ranges}: FrozenSelection): BaselinePlace {
  return {clusterId: description.clusterId, topics: ranges}
}
