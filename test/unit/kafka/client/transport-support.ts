import {PLAINTEXT} from '../../../../src/lib/kafka/client/security.ts'
import {expect} from 'vitest'
import {createKafkaTransport} from '../../../../src/lib/kafka/client/kafkajs-transport.ts'
import type {TransportDeps} from '../../../../src/lib/kafka/client/kafkajs-transport.ts'
import {parseBootstrapServers} from '../../../../src/lib/kafka/client/security.ts'
import type {ConnectionConfig} from '../../../../src/lib/kafka/client/security.ts'
import {TransportError} from '../../../../src/lib/kafka/client/transport-error.ts'
import type {Transport} from '../../../../src/lib/kafka/transport.ts'
import {FakeBroker} from '../../../support/fake-broker.ts'
import type {FakeRequest} from '../../../support/fake-broker.ts'
import {FakeClock} from '../../../support/fake-clock.ts'

export const FIND_COORDINATOR = 10
export const FETCH = 1

export const opened: AsyncDisposable[] = []

/** For `afterEach`: what the helpers opened, the newest first. */
export async function closeOpened(): Promise<void> {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]()
}

export async function broker(
  answer: ((request: FakeRequest, self: FakeBroker) => Buffer | null) | null = null,
): Promise<FakeBroker> {
  const made = await FakeBroker.start()
  if (answer !== null) made.answer = request => answer(request, made)
  opened.push(made)
  return made
}

export function transport(
  servers: string,
  deps: TransportDeps = {},
  config: Partial<ConnectionConfig> = {},
): Transport {
  const made = createKafkaTransport(
    {
      ...PLAINTEXT,
      bootstrapServers: parseBootstrapServers(servers),
      clientId: 'test',
      timeoutMs: 5000,
      requestTimeoutMs: 30_000,
      ...config,
    },
    {clock: new FakeClock(), ...deps},
  )
  opened.push(made)
  return made
}

export async function connected(fake: FakeBroker, deps: TransportDeps = {}): Promise<Transport> {
  const made = transport(fake.address, deps)
  await made.connect()
  return made
}

export async function failure(work: Promise<unknown>): Promise<TransportError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(TransportError)
  return error as TransportError
}

export const anyMetadata = {topics: [], allowAutoTopicCreation: false}
export const fetchRequest = {maxWaitMs: 1, minBytes: 1, topics: []}

/** Only short waits (back-off) pass by themselves; limits never come. */
export function pausable(clock: FakeClock): FakeClock {
  const never = new FakeClock()
  return Object.assign(Object.create(clock) as FakeClock, {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms: number, options?: {signal?: AbortSignal}) =>
      ms < 500 ? clock.sleep(ms, options) : never.sleep(ms, options),
  })
}
