import type {DeadLetter} from '../dead-letter/model.ts'
import {failureTimeline, type FailureHop} from '../dialects/timeline.ts'
import {formatCoordinates, simpleName} from './dead-letter-view.ts'
import {plural} from './numbers.ts'
import {sanitize} from './sanitize.ts'
import {formatTimestamp} from './time.ts'
import type {RenderContext} from './view.ts'

/** All failures of a record that failed several times, oldest first; nothing for the others. */
export function* timelineLines({record, dialects}: DeadLetter, {paint}: RenderContext): Generator<string> {
  const {hops, omitted} = failureTimeline(record, dialects)
  if (hops.length < 2) return
  yield `\n${paint('heading', 'Failures')} ${paint('faint', '(oldest first)')}\n`
  for (const [index, hop] of hops.entries()) {
    const number = index === 0 ? 1 : index + 1 + omitted
    if (index === 1 && omitted > 0) yield `     ${paint('faint', `... ${plural(omitted, 'failure')} not shown`)}\n`
    yield `${paint('faint', `${number}`.padStart(3))}  ${sanitize(hopText(hop))}\n`
  }
}

function hopText({
  dialect,
  at,
  stage,
  exception,
  connector,
  group,
  app,
  attempts,
  dueAt,
  failedAt,
}: FailureHop): string {
  const cause = exception?.cause ?? exception?.class
  const message = exception?.message?.split('\n', 1)[0]?.trim()
  const by = [
    connector === undefined ? null : `connector ${connector}`,
    group === undefined ? null : `group ${group}`,
    app === undefined ? null : `app ${app}`,
  ].filter(owner => owner !== null)
  const parts = [
    formatCoordinates(at) ?? (dueAt === undefined ? 'somewhere' : 'a retry topic'),
    failedAt === undefined ? null : formatTimestamp(failedAt),
    dialect,
    ...by,
    stage ?? null,
    cause === undefined ? null : simpleName(cause),
    attempts === undefined ? null : plural(attempts, 'attempt'),
    dueAt === undefined ? null : `due ${formatTimestamp(dueAt)}`,
  ]
  const facts = parts.filter(part => part !== null).join(', ')
  return message === undefined || message === '' ? facts : `${facts}: ${message}`
}
