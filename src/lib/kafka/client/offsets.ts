import type {Clock} from '../../clock.ts'
import type {KdlqError} from '../../errors.ts'
import type {CallOptions, OffsetAnswer, OffsetPoint, OffsetQuery} from '../ports.ts'
import {isRetriableCode, protocolError} from '../protocol/errors.ts'
import {listOffsetsApi} from '../protocol/generated/list-offsets.ts'
import type {ListOffsetsRequestTopic} from '../protocol/generated/list-offsets.ts'
import type {NodeId} from '../protocol/types.ts'
import type {Transport} from '../transport.ts'
import {Leaders} from './leaders.ts'
import {backoffMs, CODE, failureOf} from './retry.ts'

/** What is enough here: timestamps, isolation, leader epochs; later versions are about tiered storage. */
const MAX_VERSION = 7

interface OffsetDeps {
  readonly transport: Transport
  readonly clock: Clock
  /** Without a leader, or with errors that pass, a partition is asked about for so long, ms. */
  readonly patienceMs: number
}

interface Pending {
  readonly query: OffsetQuery
  readonly index: number
  error: KdlqError | null
}

/**
 * Offsets by ListOffsets, each from its partition's leader; same order and length as the queries.
 * @throws TransportError when no broker answers, the signal's reason
 */
export async function listOffsets(
  deps: OffsetDeps,
  queries: readonly OffsetQuery[],
  {signal}: CallOptions = {},
): Promise<readonly OffsetAnswer[]> {
  const answers: OffsetAnswer[] = queries.map(({topic, partition}) => ({topic, partition, offset: null, error: null}))
  const leaders = new Leaders(deps.transport)
  leaders.add(queries.map(({topic}) => topic))
  const deadline = deps.clock.monotonic() + deps.patienceMs
  let pending: Pending[] = queries.map((query, index) => ({query, index, error: null}))
  for (let attempt = 1; pending.length > 0; attempt++) {
    signal?.throwIfAborted()
    await leaders.refresh({signal})
    const asked = await Promise.all(
      requestsFor(leaders, pending).map(request => ask(deps.transport, request, answers, signal)),
    )
    pending = [...asked.flat(), ...leaderless(leaders, pending, answers)]
    const wait = backoffMs(attempt)
    if (pending.length > 0 && deps.clock.monotonic() + wait > deadline) {
      for (const {query, index, error} of pending) answers[index] = {...place(query), offset: null, error}
      break
    }
    if (pending.length > 0) await deps.clock.sleep(wait, {signal})
  }
  return answers
}

interface OffsetsRequest {
  readonly node: NodeId
  readonly isolationLevel: 0 | 1
  /** One partition once: a broker refuses repeats. */
  readonly items: Map<string, {readonly pending: Pending; readonly epoch: number}>
}

function requestsFor(leaders: Leaders, pending: readonly Pending[]): OffsetsRequest[] {
  const requests: OffsetsRequest[] = []
  for (const item of pending) {
    const {topic, partition, at} = item.query
    const leader = leaders.of(topic, partition)
    if (leader.state !== 'known') continue
    const isolationLevel = at === 'last-stable' ? 1 : 0
    const key = `${topic}:${partition}`
    let request = requests.find(
      ({node, isolationLevel: level, items}) => node === leader.node && level === isolationLevel && !items.has(key),
    )
    if (request === undefined) {
      request = {node: leader.node, isolationLevel, items: new Map()}
      requests.push(request)
    }
    request.items.set(key, {pending: item, epoch: leader.epoch})
  }
  return requests
}

/** Ask one leader and fill in what it answers. @returns what has to be asked again */
async function ask(
  transport: Transport,
  {node, isolationLevel, items}: OffsetsRequest,
  answers: OffsetAnswer[],
  signal: AbortSignal | undefined,
): Promise<Pending[]> {
  const byTopic = Map.groupBy(items.values(), ({pending}) => pending.query.topic)
  const topics = [...byTopic].map(([name, of]): ListOffsetsRequestTopic => ({
    name,
    partitions: of.map(({pending, epoch}) => ({
      partitionIndex: pending.query.partition,
      currentLeaderEpoch: epoch,
      timestamp: timestampOf(pending.query.at),
    })),
  }))
  const again: Pending[] = []
  const unanswered = new Map(items)
  try {
    const body = {replicaId: -1, isolationLevel, topics}
    const answer = await transport.send(node, listOffsetsApi, body, {signal, maxVersion: MAX_VERSION})
    for (const {name, partitions} of answer.body.topics) {
      for (const {partitionIndex, errorCode, offset} of partitions) {
        const key = `${name}:${partitionIndex}`
        const pending = unanswered.get(key)?.pending
        if (pending === undefined) continue
        unanswered.delete(key)
        const {query, index} = pending
        const error =
          errorCode === CODE.NONE
            ? null
            : protocolError(errorCode, listOffsetsApi.name, {...place(query), broker: node})
        if (error !== null && isRetriableCode(errorCode)) again.push({query, index, error})
        else answers[index] = {...place(query), offset: error === null && offset >= 0n ? offset : null, error}
      }
    }
    for (const {pending} of unanswered.values()) {
      const error = protocolError(CODE.UNKNOWN_TOPIC_OR_PARTITION, listOffsetsApi.name, place(pending.query))
      again.push({...pending, error})
    }
  } catch (error) {
    signal?.throwIfAborted()
    const failure = failureOf(error)
    if (!failure.retriable) throw error
    for (const {pending} of items.values()) again.push({...pending, error: failure})
  }
  return again
}

/** What has no leader now: asked for again, unless metadata says that waiting is of no use. */
function leaderless(leaders: Leaders, pending: readonly Pending[], answers: OffsetAnswer[]): Pending[] {
  const again: Pending[] = []
  for (const {query, index} of pending) {
    const found = leaders.of(query.topic, query.partition)
    if (found.state === 'known') continue
    const error = protocolError(found.code, 'Metadata', place(query))
    if (found.state === 'leaderless') again.push({query, index, error})
    else answers[index] = {...place(query), offset: null, error}
  }
  return again
}

function place({topic, partition}: OffsetQuery): {topic: string; partition: number} {
  return {topic, partition}
}

function timestampOf(at: OffsetPoint): bigint {
  if (typeof at !== 'string') return at.timestampMs
  return at === 'earliest' ? -2n : -1n
}
