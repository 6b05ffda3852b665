import {CONFIG_DEFINITIONS} from '../connect-engine/config-definitions.ts'
import type {SimulatedFate, SimulatedOutcome} from '../simulate/outcome.ts'
import type {SimulationTotals} from '../simulate/simulation.ts'
import {simpleName} from './dead-letter-view.ts'
import {plural} from './numbers.ts'
import type {Tone} from './paint.ts'
import {sanitize} from './sanitize.ts'
import {formatDuration} from './time.ts'
import type {Column, RenderContext, View} from './view.ts'

/** One record and what each configuration makes of it. JSON as it is. */
export interface SimulatedRecord {
  readonly address: string
  readonly stage: string | null
  readonly exception: string | null
  /** In the order of the configurations. */
  readonly outcomes: readonly SimulatedOutcome[]
}

const TONES: Readonly<Record<SimulatedFate, Tone>> = {
  processed: 'good',
  'dead-lettered': 'warn',
  skipped: 'bad',
  'kills-task': 'bad',
  'blocks-forever': 'bad',
}

function blockedText({blockedMs}: SimulatedOutcome): string {
  if (blockedMs === null) return 'for ever'
  return blockedMs === 0 ? '-' : formatDuration(blockedMs)
}

function outcomeColumns(index: number, prefix: string, header: string): readonly Column<SimulatedRecord>[] {
  const of = ({outcomes}: SimulatedRecord): SimulatedOutcome | null => outcomes[index] ?? null
  const text =
    (read: (outcome: SimulatedOutcome) => string | null) =>
    (record: SimulatedRecord): string | null => {
      const outcome = of(record)
      return outcome === null ? null : read(outcome)
    }
  return [
    {
      name: `${prefix}fate`,
      header: `${header}FATE`,
      text: text(({fate}) => fate),
      tone: record => TONES[of(record)?.fate ?? 'processed'],
    },
    {
      name: `${prefix}attempts`,
      header: `${header}ATTEMPTS`,
      align: 'right',
      text: text(({attempts}) => (attempts === null ? null : `${attempts}`)),
      priority: 2,
    },
    {
      name: `${prefix}blocked`,
      header: `${header}BLOCKED`,
      align: 'right',
      text: text(({blockedMs}) => (blockedMs === null ? null : `${blockedMs}`)),
      display: text(blockedText),
      priority: 4,
    },
    {name: `${prefix}why`, header: `${header}WHY`, text: text(({why}) => why), minWidth: 20, priority: 3},
  ]
}

/** Records of `simulate`. @param compared whether there are two configurations */
export function createSimulationView(compared: boolean): View<SimulatedRecord> {
  const columns: readonly Column<SimulatedRecord>[] = [
    {name: 'address', header: 'ADDRESS', text: ({address}) => address, tone: () => 'name'},
    {name: 'stage', header: 'STAGE', text: ({stage}) => stage, minWidth: 8, priority: 6},
    {
      name: 'exception',
      header: 'EXCEPTION',
      text: ({exception}) => exception,
      display: ({exception}, {width}) => (exception === null || width === null ? exception : simpleName(exception)),
      minWidth: 12,
      priority: 5,
    },
    ...outcomeColumns(0, '', ''),
    ...(compared ? outcomeColumns(1, 'compared-', 'COMPARED ') : []),
  ]
  const wideColumns = columns.map(({name}) => name)
  return {
    list: 'records',
    toJson: record => record,
    columns,
    defaultColumns: compared
      ? ['address', 'stage', 'exception', 'fate', 'blocked', 'compared-fate', 'compared-blocked']
      : wideColumns,
    wideColumns,
  }
}

/** One configuration in total, for reading; ends with a line break. */
export function* simulationTotals(
  {
    name,
    settings,
    totals,
  }: {
    readonly name: string
    readonly settings: Readonly<Record<string, string>>
    readonly totals: SimulationTotals
  },
  {paint}: RenderContext,
): Generator<string> {
  const {records, fates, blockedMs, stoppedAt, notReached} = totals
  yield `\n${paint('heading', sanitize(name))}\n`
  const changed = CONFIG_DEFINITIONS.filter(({key, default: fallback}) => (settings[key] ?? fallback) !== fallback)
  const shown = changed.map(({key}) => `${key}=${settings[key]}`)
  yield `${paint('faint', shown.length === 0 ? 'all settings at their defaults' : sanitize(shown.join(' ')))}\n`
  const counts = Object.entries(fates).filter(([, count]) => count > 0)
  const parts = counts.map(([fate, count]) => `${count} ${fate}`)
  yield `${plural(records, 'record')}: ${parts.length === 0 ? 'none' : parts.join(', ')}\n`
  const wait = blockedMs === null ? 'for ever' : formatDuration(blockedMs)
  yield `blocked for ${wait}\n`
  if (stoppedAt !== null) {
    const behind =
      notReached === 0
        ? 'it is the last one'
        : `${plural(notReached, 'record')} behind it ${notReached === 1 ? 'is' : 'are'} not read`
    yield `${paint('bad', `the task gets no further than ${sanitize(stoppedAt)}`)}: ${behind}\n`
  }
}
