import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {parseSettings, readConnectorConfig, toErrorHandling} from '../lib/cli/connector-config.ts'
import {connectionFlags, durationFlag, filterFlags, outputFlags, selectionFlags, sourceArgs} from '../lib/cli/flags.ts'
import {chooseColumns, DEFAULT_ROWS} from '../lib/cli/list-dead-letters.ts'
import {LookCommand, lookFlags} from '../lib/cli/look-command.ts'
import {CONFIG_DEFINITIONS} from '../lib/connect-engine/config-definitions.ts'
import type {ConnectorProperties} from '../lib/connect-engine/config.ts'
import type {Profile} from '../lib/connect-engine/options.ts'
import type {DeadLetter, PartitionScan} from '../lib/dead-letter/model.ts'
import {renderItems} from '../lib/render/formats.ts'
import {envelope} from '../lib/render/json.ts'
import {plural} from '../lib/render/numbers.ts'
import {createSimulationView, type SimulatedRecord, simulationTotals} from '../lib/render/simulation-view.ts'
import type {PayloadReader} from '../lib/cli/payloads.ts'
import {assumedFailure, type AssumedFailure, type AssumeRules} from '../lib/simulate/assumed-failure.ts'
import {converterFailure, isConverterStage, isUndecided} from '../lib/simulate/converter-failure.ts'
import {Simulation, type SimulationTotals} from '../lib/simulate/simulation.ts'

/** JSON contract of `simulate`. */
export interface SimulateResult {
  readonly configurations: readonly {
    readonly name: string
    /** All `errors.*` settings in force, by their keys. */
    readonly settings: Readonly<Record<string, string>>
    readonly totals: SimulationTotals
  }[]
  /** At most 1,000, with --limit or --tail as many as asked for; jsonl has all. */
  readonly records: readonly SimulatedRecord[]
  readonly scanned: readonly PartitionScan[]
}

/** Records that a JSON document holds without --limit or --tail. */
const DOCUMENT_RECORDS = 1000
const SINK_STAGES = ['KEY_CONVERTER', 'VALUE_CONVERTER', 'HEADER_CONVERTER', 'TRANSFORMATION', 'TASK_PUT'] as const

interface Candidate {
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  readonly simulation: Simulation
}

export default class Simulate extends LookCommand<SimulateResult> {
  static override summary = 'Say what Connect would do with records under other settings.'
  static override description = `Runs Connect's error handling over dead letters with the errors.* settings of a connector, on a clock that passes only in its waits: per record and in total what would be tolerated, dead-lettered, lost, would end the task, and for how long it would have blocked. Nothing is written.

Each record is assumed to fail as its headers tell, again and again. --recovers-after ends all retriable failures after a time, as an outage does. A failure can be retried if its class is Connect's RetriableException, or is named with --retriable. Records without an error are processed. With --decode keys and values are decoded for real, as the connector's converters would: what fails at it then is what fails there, also on a topic that is no dead letter topic.

--connector-config takes a properties file or the JSON of Connect's REST interface; --set changes settings in it, or stands for a file; --compare makes a second configuration out of the first and shows both.

Behind a record that ends the task, each record is judged by itself, as if the task had been started behind it. Jitter is taken at its mean.

Exit codes: 0 done; 3 a partition could not be read to its end; 2, 4, 5 wrong use, not allowed, not reachable.`
  static override examples = [
    {
      description: 'What errors.tolerance=none would have made of these.',
      command: '<%= config.bin %> <%= command.id %> example:orders-dlq --set errors.tolerance=none',
    },
    {
      description: 'A connector as it is, and with ten minutes of retries in an outage of five.',
      command:
        '<%= config.bin %> <%= command.id %> orders-dlq --connector-config orders-sink.json --compare errors.retry.timeout=600000 --recovers-after 5m',
    },
  ]
  static override args = {...sourceArgs}
  static override flags = {
    ...selectionFlags,
    ...filterFlags,
    ...lookFlags,
    ...connectionFlags,
    ...outputFlags,
    'connector-config': Flags.string({
      helpGroup: 'simulation',
      helpValue: 'FILE',
      summary: 'Configuration of the connector: .properties, or JSON as Connect gives it.',
    }),
    set: Flags.string({
      helpGroup: 'simulation',
      helpValue: 'KEY=VALUE',
      multiple: true,
      multipleNonGreedy: true,
      summary: 'Change one setting, such as errors.tolerance=all.',
    }),
    compare: Flags.string({
      helpGroup: 'simulation',
      helpValue: 'KEY=VALUE',
      multiple: true,
      multipleNonGreedy: true,
      summary: 'A second configuration: the first one with this change.',
    }),
    'connect-version': Flags.option({
      options: ['3.9', '4.x'] as const,
      helpGroup: 'simulation',
      summary: 'Release whose behaviour is simulated; default 4.x.',
    })(),
    'assume-stage': Flags.option({
      options: SINK_STAGES,
      helpGroup: 'simulation',
      summary: "Stage of failures whose headers tell none of Connect's; default: they do not fail.",
    })(),
    retriable: Flags.string({
      helpGroup: 'simulation',
      helpValue: 'CLASS',
      multiple: true,
      multipleNonGreedy: true,
      summary: 'Full name of an exception class that extends RetriableException.',
    }),
    'recovers-after': durationFlag({
      helpGroup: 'simulation',
      summary: 'All retriable failures end so long after the first; default never.',
    }),
  }

  async run(): Promise<SimulateResult> {
    const {args, flags} = await this.parse(Simulate)
    const profile: Profile = flags['connect-version'] === '3.9' ? 'P39' : 'P4x'
    const candidates = await this.#candidates(flags, profile)
    const view = createSimulationView(candidates.length > 1)
    const columns = chooseColumns(view, flags) ?? view.defaultColumns
    const rules: AssumeRules = {
      stage: flags['assume-stage'] ?? null,
      retriable: className => flags.retriable?.includes(className) === true,
    }
    const request = await this.request(args.source, flags)
    await using cluster = await this.open(request, flags)
    const payloads = flags.decode === undefined ? null : await this.payloads(flags)
    const frozen = await this.freeze(cluster, request)
    const {scan} = await this.look(cluster, frozen, flags, {label: 'simulating', payloads})
    const format = outputFormat(flags)
    const context = this.renderContext({fit: !flags.wide})
    const isLimited = flags.limit !== undefined || flags.tail !== undefined
    const most = isLimited || format === 'csv' ? Infinity : format === 'json' ? DOCUMENT_RECORDS : DEFAULT_ROWS
    const records: SimulatedRecord[] = []
    let hidden = 0
    const simulated = simulate(scan, candidates, letter => failureOf(letter, rules, payloads))
    if (format === 'jsonl') await this.printAll(renderItems(simulated, view, {format, columns, context}))
    else {
      for await (const record of simulated) {
        if (records.length < most) records.push(record)
        else hidden += 1
      }
    }
    const scanned = scan.scanned()
    const configurations = candidates.map(({name, settings, simulation}) => ({
      name,
      settings,
      totals: simulation.totals(),
    }))
    const result: SimulateResult = {configurations, records, scanned}
    if (format === 'json') {
      await this.print(
        envelope(this.commandName, {result, warnings: this.documentWarnings(scanned)}, context.forTerminal),
      )
    } else if (format !== 'jsonl') {
      await this.printAll(renderItems(records, view, {format, columns, context}))
    }
    if (hidden > 0) await this.say(`${plural(hidden, 'more record')}; --limit 0 shows all, the totals count all`)
    for (const configuration of configurations) {
      const lines = [...simulationTotals(configuration, context)]
      if (format === 'table') await this.printAll(lines)
      else if (format === 'jsonl' || format === 'csv') for (const line of lines) await this.say(line.trim())
      else if (format === 'markdown') await this.printAll(lines)
    }
    await this.closeScan(scanned, configurations[0]?.totals.records ?? 0)
    return result
  }

  async #candidates(
    flags: {
      readonly 'connector-config': string | undefined
      readonly set: readonly string[] | undefined
      readonly compare: readonly string[] | undefined
      readonly 'recovers-after': number | undefined
    },
    profile: Profile,
  ): Promise<readonly Candidate[]> {
    const path = flags['connector-config']
    const file = path === undefined ? null : await readConnectorConfig(path)
    const first = {...file?.properties, ...parseSettings('--set', flags.set ?? [])}
    const name = file?.name ?? 'connector'
    const candidate = (title: string, properties: ConnectorProperties): Candidate => ({
      name: title,
      settings: settingsOf(properties),
      simulation: new Simulation({
        config: toErrorHandling(properties, profile),
        connector: name,
        profile,
        recoversAfterMs: flags['recovers-after'] ?? null,
      }),
    })
    if (flags.compare === undefined) return [candidate(name, first)]
    return [candidate(name, first), candidate('compared', {...first, ...parseSettings('--compare', flags.compare)})]
  }
}

async function* simulate(
  letters: AsyncIterable<DeadLetter>,
  candidates: readonly Candidate[],
  fail: (letter: DeadLetter) => AssumedFailure | null,
): AsyncGenerator<SimulatedRecord> {
  for await (const letter of letters) {
    const failure = fail(letter)
    const outcomes = []
    for (const {simulation} of candidates) outcomes.push(await simulation.take(letter, failure))
    const {address} = letter
    yield {address, stage: failure?.stage ?? null, exception: failure?.error.className ?? null, outcomes}
  }
}

/** What really fails in the converters, where these are run; else what the headers tell. */
function failureOf(letter: DeadLetter, rules: AssumeRules, payloads: PayloadReader | null): AssumedFailure | null {
  const assumed = assumedFailure(letter, rules)
  if (payloads === null) return assumed
  const decoded = payloads.decode(letter)
  const found = converterFailure(decoded)
  if (found === null && isUndecided(decoded)) return assumed
  return found ?? (assumed !== null && isConverterStage(assumed.stage) ? null : assumed)
}

/** Settings in force, defaults included; no other key of a connector is shown: it may be a secret. */
function settingsOf(properties: ConnectorProperties): Readonly<Record<string, string>> {
  return Object.fromEntries(
    CONFIG_DEFINITIONS.map(({key, default: fallback}) => [key, properties[key] ?? fallback] as const),
  )
}
