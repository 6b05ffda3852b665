import type {CheckResult, ReplayPlan} from '../replay/plan.ts'
import type {ReplayCounts, ReplayResult} from '../replay/result.ts'
import {formatBytes, formatCount, plural} from './numbers.ts'
import type {Tone} from './paint.ts'
import {sanitize} from './sanitize.ts'
import {renderTable} from './table.ts'
import {formatDuration} from './time.ts'
import type {Column, RenderContext, View} from './view.ts'

type Target = ReplayPlan['targets'][number]

/** One line of a plan by target partition: the rows of csv and markdown too. */
export const planTargetView: View<Target> = {
  list: 'targets',
  toJson: target => target,
  columns: [
    {name: 'topic', header: 'TARGET TOPIC', text: ({topic}) => topic, tone: () => 'name'},
    {name: 'partition', header: 'PARTITION', align: 'right', text: ({partition}) => `${partition}`},
    {
      name: 'records',
      header: 'RECORDS',
      align: 'right',
      text: ({count}) => `${count}`,
      display: ({count}) => formatCount(count),
    },
    {
      name: 'bytes',
      header: 'SIZE',
      align: 'right',
      text: ({bytes}) => `${bytes}`,
      display: ({bytes}) => formatBytes(bytes),
    },
  ],
  defaultColumns: ['topic', 'partition', 'records', 'bytes'],
  wideColumns: ['topic', 'partition', 'records', 'bytes'],
}

const LEVEL_TONES: Readonly<Record<CheckResult['level'], Tone>> = {
  ok: 'good',
  warn: 'warn',
  refuse: 'bad',
  allowed: 'warn',
  skipped: 'warn',
  'left-out': 'warn',
  unknown: 'warn',
}

const checkColumns: readonly Column<CheckResult>[] = [
  {name: 'check', header: 'CHECK', text: ({id}) => id},
  {name: 'result', header: 'RESULT', text: ({level}) => level, tone: ({level}) => LEVEL_TONES[level]},
  {name: 'records', header: 'RECORDS', align: 'right', text: ({count}) => formatCount(count)},
  {name: 'detail', header: 'DETAIL', text: checkDetail, minWidth: 30},
]

/** A plan for a person, in lines; ends with a line break. */
export async function* renderReplayPlan(plan: ReplayPlan, context: RenderContext): AsyncGenerator<string> {
  const {counts, target, samples} = plan
  const {paint} = context
  const line = (label: string, text: string): string => `${paint('faint', label.padEnd(8))} ${sanitize(text)}\n`
  yield line('source', sourceText(plan))
  yield line('target', `${targetText(plan)} on ${clusterText(target)}`)
  yield line('records', recordsText(plan))
  if (plan.targets.length > 0) {
    yield '\n'
    yield* renderTable(plan.targets, planTargetView.columns, context)
  }
  const told = plan.checks.filter(({level}) => level !== 'ok')
  if (told.length > 0) {
    yield '\n'
    yield* renderTable(told, checkColumns, context)
  }
  yield '\n'
  for (const sample of samples) {
    const restored = sample.payloadRestored ? ', payload restored' : ''
    yield line('headers', `of ${sample.address} (${sample.kind}, to ${sample.target}${restored})`)
    yield line('  before', namesText(sample.before))
    yield line('  remove', namesText(sample.removed))
    yield line('  add', namesText(sample.added))
    yield line('  after', namesText(sample.after))
    if (sample.harmful.length > 0) {
      yield line('  keeps', `${namesText(sample.harmful)}: the next failure will not be handled as a first one`)
    }
  }
  if (counts.toReplay === 0) {
    if (counts.parked > 0) yield* errorLines(plan, line)
    return
  }
  if (plan.fromOrigin !== undefined) yield line('record', 'that stands at the origin')
  const {key, value} = plan.decode ?? {}
  const asked = [key === undefined ? [] : [`key ${key}`], value === undefined ? [] : [`value ${value}`]].flat()
  if (asked.length > 0) yield line('decode', `before it is sent: ${asked.join(', ')}`)
  yield line('time', timeText(plan))
  yield line('pace', paceText(plan))
  yield line('order', orderText(plan))
  yield line('ledger', ledgerText(plan))
  yield* errorLines(plan, line)
}

/** What a run did, in a line. */
export function replaySummary({counts, durationMs, stopped, metrics}: ReplayResult): string {
  const before = metrics.replayedBefore > 0 ? ` (${formatCount(metrics.replayedBefore)} before)` : ''
  const parts = [`${formatCount(counts.replayed)} replayed${before}`]
  const others: readonly (keyof ReplayCounts)[] = ['parked', 'skipped', 'held', 'failed', 'unknown', 'gone']
  for (const name of others) if (counts[name] > 0) parts.push(`${formatCount(counts[name])} ${name}`)
  if (stopped !== null) parts.push(`${formatCount(stopped.remaining)} not reached`)
  const rate = durationMs < 1000 ? '' : ` (${formatCount(Math.round(metrics.recordsPerSecond))}/s)`
  return `${parts.join(', ')} in ${formatDuration(durationMs)}${rate}`
}

/** What error handling counted, in a line; null when nothing failed. */
export function errorsSummary({metrics}: ReplayResult): string | null {
  const failures = metrics['total-record-failures']
  if (failures === 0) return null
  const retries = metrics['total-retries']
  const parts = [plural(failures, 'failure')]
  if (retries > 0) parts.push(`${formatCount(retries)} retried`)
  const logged = metrics['total-errors-logged']
  if (logged > 0) parts.push(`${formatCount(logged)} logged`)
  const requests = metrics['deadletterqueue-produce-requests']
  if (requests > 0) parts.push(`${formatCount(requests)} for the parking topic`)
  const notParked = metrics['deadletterqueue-produce-failures']
  if (notParked > 0) parts.push(`${formatCount(notParked)} not parked`)
  return `errors: ${parts.join(', ')}`
}

/** The parking topic, and what is not the default. */
function* errorLines({parking, errors}: ReplayPlan, line: (label: string, text: string) => string): Generator<string> {
  if (parking !== null) {
    const size = parking.partitions === null ? 'of the archive' : `(${plural(parking.partitions, 'partition')})`
    yield line('parking', `${parking.topic} ${size}, for what cannot be replayed`)
  }
  const parts = errors.tolerance === 'none' ? ['stop at the first failed record'] : []
  const {retryTimeoutMs: timeout, retryDelayMaxMs: delay} = errors
  if (timeout !== '0') {
    const until = timeout.startsWith('-') ? 'without end' : `for ${formatDuration(Number(timeout))}`
    parts.push(`retry ${until}, every ${formatDuration(Number(delay))} at most`)
  }
  if (errors.log) parts.push(errors.logIncludeMessages ? 'logged with the address' : 'logged')
  if (parts.length > 0) yield line('errors', parts.join('; '))
}

function timeText({timestamp, samples, checks}: ReplayPlan): string {
  if (timestamp === 'now') return 'of sending'
  const isLost = checks.some(({id, count}) => id === 'timestamp-lost' && count > 0)
  const timed = samples.filter(sample => sample.timestamp !== null)
  if (timestamp !== 'default' || isLost || timed.length === samples.length) return 'of the original record'
  const why = 'retry topics would count from an old one'
  if (timed.length === 0) return `of sending: ${why}`
  const kinds = samples.filter(sample => sample.timestamp === null).map(({kind}) => kind)
  return `of the original record, of sending for ${kinds.join(', ')}: ${why}`
}

function sourceText({source}: ReplayPlan): string {
  const topics = Map.groupBy(source.ranges, ({topic}) => topic)
  const names = [...topics].map(([topic, ranges]) => `${topic} (${plural(ranges.length, 'partition')})`)
  return `${names.length === 0 ? 'nothing' : names.join(', ')} on ${clusterText(source)}`
}

function targetText({target}: ReplayPlan): string {
  const topic = target.topic === '{origin.topic}' ? 'origin topic' : target.topic
  const partition = target.partitionRule === 'key' ? 'partition by key' : 'origin partition'
  const fallback = target.partitionFallback === null ? '' : ', else by key'
  return `${topic}, ${partition}${fallback}`
}

function clusterText({kind, name, clusterId}: ReplayPlan['source'] | ReplayPlan['target']): string {
  return kind === 'archive' ? `archive ${name}` : `${name}${clusterId === null ? '' : ` (cluster ${clusterId})`}`
}

function recordsText({counts}: ReplayPlan): string {
  const parts = [`${formatCount(counts.selected)} selected`, `${formatCount(counts.toReplay)} to replay`]
  if (counts.skipped > 0) parts.push(`${formatCount(counts.skipped)} left out`)
  if (counts.held > 0) parts.push(`${formatCount(counts.held)} held`)
  if (counts.parked > 0) parts.push(`${formatCount(counts.parked)} to park`)
  if (counts.refused > 0) parts.push(`${formatCount(counts.refused)} refused`)
  return parts.join(', ')
}

function paceText({rate, bytesRate}: ReplayPlan): string {
  const records = rate === null ? null : rate >= 1 ? `${rate} records/s` : `${Math.round(rate * 3600)} records/h`
  const bytes = bytesRate === null ? null : `${formatBytes(bytesRate)}/s`
  const bounds = [records, bytes].filter(bound => bound !== null)
  return bounds.length === 0 ? 'as fast as the target takes it' : `at most ${bounds.join(' and ')}`
}

function orderText({order}: ReplayPlan): string {
  return order === 'origin' ? 'of the origin partitions' : 'of the dead letter topic'
}

function ledgerText({delivery, ledger, handled, maxAttempts}: ReplayPlan): string {
  if (ledger.kind === 'none') return 'none is kept: running this again sends the same records again'
  const named = {
    topic: () => `topic ${nameOf(ledger)}`,
    file: () => `file ${nameOf(ledger)}`,
    archive: () => 'of the archive',
  }
  const again = {
    hide: 'handled records are left out',
    show: 'handled records are sent again',
    only: 'only handled records are sent',
  }
  const attempts = `at most ${plural(maxAttempts, 'replay')} of one record`
  return `${named[ledger.kind]()}, ${delivery.replaceAll('-', ' ')}; ${again[handled]}, ${attempts}`
}

function nameOf(ledger: ReplayPlan['ledger']): string {
  return ledger.kind === 'topic' ? ledger.name : ledger.kind === 'file' ? ledger.path : ''
}

function checkDetail({detail, addresses, count}: CheckResult): string {
  const [first] = addresses
  if (first === undefined) return detail
  return `${detail} (${first}${count > 1 ? ' and others' : ''})`
}

/** Header names in order; neighbours of one family (`__connect.errors.topic`, `__connect.errors.stage`) as one word. */
function namesText(names: readonly string[]): string {
  const words: {readonly family: string; readonly names: string[]}[] = []
  for (const name of names) {
    const family = /^[^.]*\.(?:[^.]*\.)?/.exec(name)?.[0] ?? /^[^-]+-/.exec(name)?.[0] ?? ''
    const last = words.at(-1)
    if (last !== undefined && family !== '' && last.family === family) last.names.push(name)
    else words.push({family, names: [name]})
  }
  if (words.length === 0) return 'none'
  return words
    .flatMap(({family, names: own}) => {
      // Dots make a family of any two names, dashes are common in names of no family at all.
      const isFamily = own.length > (family.endsWith('.') ? 1 : 3)
      return isFamily ? [`${family}* (${own.length})`] : own.map(name => (name === '' ? '""' : name))
    })
    .join(', ')
}
