import type {FoundRun, RunSummary} from '../replay/find-runs.ts'
import {formatCount, plural} from './numbers.ts'
import {sanitize} from './sanitize.ts'
import {formatTimestamp} from './time.ts'
import type {RenderContext, View} from './view.ts'

const when = (ms: string | null): string => (ms === null ? '' : formatTimestamp(ms))
const nothing = (text: string | null): string => text ?? ''

/** Runs of a ledger, one a line. */
export const runsView: View<RunSummary> = {
  list: 'runs',
  toJson: run => run,
  columns: [
    {name: 'run', header: 'RUN', text: ({run}) => run, tone: () => 'name'},
    {
      name: 'state',
      header: 'STATE',
      text: ({state}) => state,
      tone: ({state}) => (state === 'completed' ? 'good' : 'warn'),
    },
    {name: 'by', header: 'BY', text: ({by}) => nothing(by)},
    {name: 'started', header: 'STARTED', text: ({startedAt}) => when(startedAt)},
    {name: 'last', header: 'LAST', text: ({endedAt}) => when(endedAt)},
    {
      name: 'replayed',
      header: 'REPLAYED',
      align: 'right',
      text: ({counts}) => `${counts.replayed}`,
      display: ({counts}) => formatCount(counts.replayed),
    },
    {
      name: 'parked',
      header: 'PARKED',
      align: 'right',
      text: ({counts}) => `${counts.parked}`,
      display: ({counts}) => formatCount(counts.parked),
    },
    {
      name: 'failed',
      header: 'FAILED',
      align: 'right',
      text: ({counts}) => `${counts.failed}`,
      display: ({counts}) => formatCount(counts.failed),
    },
    {name: 'reason', header: 'REASON', text: ({reason}) => nothing(reason)},
    {name: 'end', header: 'END', text: ({endReason}) => nothing(endReason)},
  ],
  defaultColumns: ['run', 'state', 'by', 'started', 'last', 'replayed', 'failed', 'reason'],
  wideColumns: ['run', 'state', 'by', 'started', 'last', 'replayed', 'parked', 'failed', 'reason', 'end'],
}

function parkedText(parked: number): string {
  return parked === 0 ? '' : `, ${formatCount(parked)} parked`
}

/** One run for a person, in lines; ends with a line break. */
export function* renderRun({summary, document, targets, parked}: FoundRun, {paint}: RenderContext): Generator<string> {
  const {plan} = document
  const line = (label: string, text: string): string => `${paint('faint', label.padEnd(8))} ${sanitize(text)}\n`
  const topics = [...new Set(plan.source.ranges.map(({topic}) => topic))]
  yield line('run', summary.run)
  yield line('state', `${summary.state}${summary.endReason === null ? '' : `: ${summary.endReason}`}`)
  yield line('by', summary.by ?? 'not known')
  if (summary.reason !== null) yield line('reason', summary.reason)
  yield line('started', when(summary.startedAt))
  if (summary.endedAt !== null) yield line('last', when(summary.endedAt))
  yield line('source', `${topics.join(', ')} on ${plan.source.name}`)
  yield line(
    'records',
    `${plural(plan.counts.toReplay, 'record')} to replay, ${formatCount(summary.counts.replayed)} replayed${parkedText(summary.counts.parked)}`,
  )
  if (plan.parking !== null) {
    const why = `${formatCount(parked.failed)} failed, ${formatCount(parked.policy)} replayed too often`
    yield line('parking', `${plan.parking.topic}: ${why}`)
  }
  const failures = summary.metrics['total-record-failures']
  if (failures > 0)
    yield line('errors', `${plural(failures, 'failure')}, ${formatCount(summary.metrics['total-retries'])} retried`)
  for (const {topic, partition, count} of targets) yield line('target', `${topic}:${partition} ${formatCount(count)}`)
}
