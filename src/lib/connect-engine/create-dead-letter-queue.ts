import {isKdlqError} from '../errors.ts'
import type {ClusterAdmin, ClusterReader, ClusterWriter} from '../kafka/ports.ts'
import type {DeadLetterProducerOptions} from './dead-letter-producer.ts'
import {DeadLetterQueueReporter} from './dead-letter-queue-reporter.ts'
import type {DeadLetterQueueReporterOptions} from './dead-letter-queue-reporter.ts'
import {ConnectException, ExecutionException} from './errors.ts'
import type {DeadLetterProducerSettings} from './dead-letter-settings.ts'
import {checkRanges} from './options.ts'
import type {LogSink} from './reporter.ts'

/** `delivery.timeout.ms` of Connect's dead letter producers: they retry for ever, as near as makes no difference. */
export const DEAD_LETTER_DELIVERY_TIMEOUT_MS = 2_147_483_647

/** The clients of a dead letter queue; they may be of different clusters. */
export interface DeadLetterQueueClients {
  readonly reader: Pick<ClusterReader, 'topics'>
  readonly admin: Pick<ClusterAdmin, 'createTopic'>
  readonly writer: Pick<ClusterWriter, 'open'>
}

/** The queue to set up, and with which settings. */
export interface DeadLetterQueueInput
  extends
    Omit<DeadLetterQueueReporterOptions, 'producer'>,
    Omit<DeadLetterProducerOptions, 'open' | 'partitions'>,
    DeadLetterProducerSettings {
  /** `errors.deadletterqueue.topic.replication.factor`, for a topic that is not there yet; -1 = the broker's default. */
  readonly replicationFactor: number
  /** The switch of that name: refuse a factor that KIP-298 does not allow. */
  readonly validateRanges?: boolean
}

/**
 * Start a dead letter queue: see that the topic is there, create it with one partition if it is not, and report to it
 * through a producer of its own (acks=all, endless retries, one request in flight).
 *
 * Who may not describe the topic is taken for one who has none, and tries to create it.
 * @throws ConnectException (cause: an ExecutionException) when the topic can be neither found nor created; ConfigError with
 * `validateRanges`
 * @see Connect's DeadLetterQueueReporter.createAndSetup
 */
export async function createDeadLetterQueueReporter(
  {reader, admin, writer}: DeadLetterQueueClients,
  input: DeadLetterQueueInput,
  {signal}: {signal?: AbortSignal | undefined} = {},
): Promise<DeadLetterQueueReporter> {
  const {replicationFactor, validateRanges = false, log, compression = 'none', ...rest} = input
  const deliveryTimeoutMs = input.deliveryTimeoutMs ?? DEAD_LETTER_DELIVERY_TIMEOUT_MS
  if (validateRanges) checkRanges({replicationFactor})
  const topic = input.topic.trim()
  const partitions = await ensureTopic({reader, admin, log}, {topic, replicationFactor}, signal)
  const options = {compression, transactionalId: null, deliveryTimeoutMs}
  // With it come the codecs of record batches.
  const {QueuedDeadLetterProducer} = await import('./dead-letter-producer.ts')
  const producer = new QueuedDeadLetterProducer({...rest, partitions, open: () => writer.open(options)})
  return new DeadLetterQueueReporter({...rest, log, topic, producer})
}

/** @returns how many partitions the topic has */
async function ensureTopic(
  {reader, admin, log}: Omit<DeadLetterQueueClients, 'writer'> & {readonly log: LogSink},
  {topic, replicationFactor}: {readonly topic: string; readonly replicationFactor: number},
  signal: AbortSignal | undefined,
): Promise<number> {
  try {
    const [found] = await reader.topics([topic], {signal})
    const known = found !== undefined && found.error === null && !found.internal
    if (known) return Math.max(1, found.partitions.length)
    const message = `Topic ${topic} doesn't exist. Will attempt to create topic.`
    log({logger: 'DeadLetterQueueReporter', message, error: null})
    try {
      await admin.createTopic({name: topic, partitions: 1, replicationFactor, configs: {}}, {signal})
    } catch (error) {
      if (!isKdlqError(error) || error.code !== 'E_TOPIC_ALREADY_EXISTS') throw error
      const [created] = await reader.topics([topic], {signal})
      return Math.max(1, created?.partitions.length ?? 1)
    }
    return 1
  } catch (error) {
    signal?.throwIfAborted()
    const message = `Could not initialize dead letter queue with topic=${topic}`
    throw new ConnectException(message, {cause: new ExecutionException(error)})
  }
}
