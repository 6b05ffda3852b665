import {Args} from '@oclif/core'
import {outputFormat} from '../lib/cli/base-command.ts'
import {connectionFlags, outputFlags} from '../lib/cli/flags.ts'
import {LedgerCommand} from '../lib/cli/ledger-command.ts'
import {ledgerFlags, targetFlags} from '../lib/cli/replay-flags.ts'
import {UsageError} from '../lib/errors.ts'
import {renderItems} from '../lib/render/formats.ts'
import {envelope} from '../lib/render/json.ts'
import {plural} from '../lib/render/numbers.ts'
import {renderRun, runsView} from '../lib/render/runs-view.ts'
import {chooseColumns} from '../lib/cli/list-dead-letters.ts'
import {type FoundRun, findRun, listRunSummaries, type RunSummary} from '../lib/replay/find-runs.ts'
import type {ReplayResult} from '../lib/replay/result.ts'
import {unexecuted} from '../lib/replay/result.ts'
import {isRunId} from '../lib/replay/run-id.ts'

type RunsResult = {readonly runs: readonly RunSummary[]} | (ReplayResult & {readonly summary: RunSummary})

export default class Runs extends LedgerCommand<RunsResult> {
  static override summary = 'List the runs of a ledger, or show one.'
  static override description = `Reads the ledger, writes nothing. A run is open while it works, and after its process was killed; kdlq resume goes on with it.

Exit codes: 0 done; 6 when the ledger is missing or does not know the run.`
  static override examples = [
    {
      description: 'Who replayed what.',
      command: '<%= config.bin %> <%= command.id %> --bootstrap-server localhost:9092',
    },
  ]
  static override args = {
    run: Args.string({ignoreStdin: true, description: 'Id of one run.'}),
  }
  static override flags = {
    ...ledgerFlags,
    'to-archive': targetFlags['to-archive'],
    ...outputFlags,
    ...connectionFlags,
  }

  async run(): Promise<RunsResult> {
    const {args, flags} = await this.parse(Runs)
    if (args.run !== undefined && !isRunId(args.run)) {
      throw new UsageError(`${JSON.stringify(args.run)} is no run id`, {
        hints: ['kdlq runs lists the runs of a ledger'],
      })
    }
    await using opened = await this.openLedgerPlace(flags)
    const options = {...this.ledgerReads, signal: this.signal}
    if (args.run !== undefined)
      return await this.#one(await findRun(opened.place, args.run, this.clock, options), flags)
    const runs = await listRunSummaries(opened.place, this.clock, options)
    const columns = chooseColumns(runsView, flags) ?? runsView.defaultColumns
    const format = outputFormat(flags)
    if (format === 'json')
      await this.print(envelope(this.commandName, {result: {runs}, warnings: this.warnings}, this.io.stdout.isTTY))
    else await this.printAll(renderItems(runs, runsView, {format, columns, context: this.renderContext()}))
    await this.say(plural(runs.length, 'run'))
    const open = runs.find(({state}) => state === 'open' || state === 'stopped')
    if (open !== undefined) await this.suggestNext(`kdlq resume ${open.run}`)
    return {runs}
  }

  async #one(found: FoundRun, flags: Readonly<Record<string, unknown>>): Promise<RunsResult> {
    const {summary, document, targets, parked} = found
    const {parking} = document.plan
    const durationMs = summary.endedAt === null ? 0 : Number(BigInt(summary.endedAt) - BigInt(summary.startedAt ?? '0'))
    const blank = unexecuted(document.plan, [], durationMs)
    const result = {
      ...blank,
      metrics: {...blank.metrics, ...summary.metrics},
      parking: parking === null ? null : {topic: parking.topic, ...parked},
      run: summary.run,
      counts: summary.counts,
      targets,
      summary,
    }
    const isDocument = ['json', 'jsonl'].includes(outputFormat(flags))
    if (isDocument)
      await this.print(envelope(this.commandName, {result, warnings: this.warnings}, this.io.stdout.isTTY))
    else for (const line of renderRun(found, this.renderContext())) await this.print(line)
    if (summary.state === 'open' || summary.state === 'stopped') await this.suggestNext(`kdlq resume ${summary.run}`)
    return result
  }
}
