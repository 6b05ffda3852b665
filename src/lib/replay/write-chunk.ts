import {BugError, KafkaError} from '../errors.ts'
import type {KdlqError} from '../errors.ts'
import type {ProduceResult, ProducerSession} from '../kafka/ports.ts'
import type {Chunk, RecordOutcome, TargetBatch} from './chunk.ts'

/** Refusals that one record of a batch brings upon all of it; the codes are Kafka's names. */
const RECORD_ERRORS: ReadonlySet<string> = new Set([
  'E_MESSAGE_TOO_LARGE',
  'E_RECORD_LIST_TOO_LARGE',
  'E_INVALID_TIMESTAMP',
  'E_INVALID_RECORD',
  'E_CORRUPT_MESSAGE',
])

/** Writes whole chunks. The one place that knows how a chunk reaches the target. */
export interface ChunkWriter extends AsyncDisposable {
  /**
   * Write a chunk; nothing in here waits for anything but the target.
   * @returns one outcome for each record; `replayed` and `parked` only for what was acknowledged
   */
  write(chunk: Chunk, options?: {readonly signal?: AbortSignal | undefined}): Promise<readonly RecordOutcome[]>
}

/** Chunks through an idempotent producer, without a transaction. */
export function createIdempotentWriter(session: ProducerSession): ChunkWriter {
  return {
    write: async (chunk, options = {}) => writeBatches(session, chunk.batches(), options),
    [Symbol.asyncDispose]: async () => session.close(),
  }
}

/**
 * Produce batches; a refused one is split until the bad record is alone, so that the good ones go, in order.
 * @returns one outcome for each record
 */
export async function writeBatches(
  session: Pick<ProducerSession, 'produce'>,
  batches: readonly TargetBatch[],
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<readonly RecordOutcome[]> {
  return (await writeUntil(session, batches, () => false, options)).outcomes
}

/**
 * As `writeBatches`, but begins no further round of a split once it is enough.
 * @param isEnough asked between rounds; a transaction must not stay open while a bad batch is taken apart
 * @returns outcomes of what was tried, and the rest, in order
 */
export async function writeUntil(
  session: Pick<ProducerSession, 'produce'>,
  batches: readonly TargetBatch[],
  isEnough: () => boolean,
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<{readonly outcomes: readonly RecordOutcome[]; readonly left: readonly (readonly TargetBatch[])[]}> {
  return writeQueues(
    session,
    batches.map(batch => [batch]),
    isEnough,
    options,
  )
}

/** As `writeUntil`, for what it left. */
export async function writeQueues(
  session: Pick<ProducerSession, 'produce'>,
  queues: readonly (readonly TargetBatch[])[],
  isEnough: () => boolean,
  options: {readonly signal?: AbortSignal | undefined} = {},
): ReturnType<typeof writeUntil> {
  const outcomes: RecordOutcome[] = []
  // One queue a partition: the parts of a split batch go one after the other, partitions side by side.
  let waiting = queues
  for (let round = 0; waiting.length > 0; round++) {
    if (round > 0 && isEnough()) break
    const sent = waiting.flatMap(queue => queue.slice(0, 1))
    const results = await session.produce(sent, options)
    waiting = waiting.map((queue, index) => {
      const [batch, ...rest] = queue
      const result = results[index]
      if (batch === undefined || result === undefined) throw new BugError('a batch without an outcome')
      return [...settle(batch, result, outcomes), ...rest]
    })
    waiting = waiting.filter(queue => queue.length > 0)
  }
  return {outcomes, left: waiting}
}

/** Note a batch's outcome; returns the parts of it that have to be sent again. */
function settle(batch: TargetBatch, result: ProduceResult, outcomes: RecordOutcome[]): TargetBatch[] {
  const {error} = result
  if (error === null) {
    batch.entries.forEach((entry, index) => {
      const offset = result.baseOffset === null ? null : result.baseOffset + BigInt(index)
      const target = {topic: batch.topic, partition: batch.partition, offset}
      const {parking: reason} = entry
      outcomes.push(
        reason === undefined ? {state: 'replayed', entry, target} : {state: 'parked', entry, reason, target},
      )
    })
    return []
  }
  const state = error.code === 'E_OUTCOME_UNKNOWN' ? 'unknown' : 'failed'
  if (state === 'unknown' || !RECORD_ERRORS.has(error.code) || batch.entries.length === 1) {
    const told = batch.entries.length === 1 ? (recordError(error, result) ?? error) : error
    for (const entry of batch.entries) outcomes.push({state, entry, error: told})
    return []
  }
  const named = result.recordErrors.filter(({index}) => index >= 0 && index < batch.entries.length)
  const bad = new Map(named.map(({index, message}) => [index, message]))
  if (bad.size > 0 && bad.size < batch.entries.length) return withoutNamed(batch, bad, error, outcomes)
  const middle = batch.entries.length >> 1
  return [part(batch, 0, middle), part(batch, middle, batch.entries.length)]
}

/** The broker named the bad records: they fail, the runs of good ones between them go again. */
function withoutNamed(
  batch: TargetBatch,
  bad: ReadonlyMap<number, string | null>,
  error: KdlqError,
  outcomes: RecordOutcome[],
): TargetBatch[] {
  const parts: TargetBatch[] = []
  let from = 0
  for (let index = 0; index <= batch.entries.length; index++) {
    const entry = batch.entries[index]
    if (entry !== undefined && !bad.has(index)) continue
    if (index > from) parts.push(part(batch, from, index))
    from = index + 1
    if (entry !== undefined) outcomes.push({state: 'failed', entry, error: withText(error, bad.get(index) ?? null)})
  }
  return parts
}

function part(batch: TargetBatch, from: number, to: number): TargetBatch {
  const {topic, partition} = batch
  return {topic, partition, records: batch.records.slice(from, to), entries: batch.entries.slice(from, to)}
}

function recordError(error: KdlqError, {recordErrors}: ProduceResult): KdlqError | null {
  const text = recordErrors[0]?.message ?? null
  return text === null ? null : withText(error, text)
}

function withText(error: KdlqError, text: string | null): KdlqError {
  if (text === null) return error
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return new KafkaError(`${error.message}: ${line}`, {code: error.code, context: error.context, cause: error})
}
