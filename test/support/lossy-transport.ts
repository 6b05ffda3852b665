import {TransportError} from '../../src/lib/kafka/client/transport-error.ts'
import type {Api, NodeId} from '../../src/lib/kafka/protocol/types.ts'
import type {Answer, RequestOptions, Transport} from '../../src/lib/kafka/transport.ts'

export interface LossyTransport {
  readonly transport: Transport
  /** The next so many answers to this API reach the broker and get lost on their way back. */
  lose(api: {readonly name: string}, times?: number): void
}

/** A real transport whose answers can get lost. */
export function lossyTransport(inner: Transport): LossyTransport {
  const losses = new Map<string, number>()
  const send = async <Req, Res>(
    to: NodeId | 'any' | 'controller',
    api: Api<Req, Res>,
    body: Req,
    options?: RequestOptions,
  ): Promise<Answer<Res>> => {
    const answer = await inner.send(to, api, body, options)
    const left = losses.get(api.name) ?? 0
    if (left === 0) return answer
    losses.set(api.name, left - 1)
    if (typeof to === 'number') inner.invalidate(to)
    throw new TransportError('closed', 'lossy', 'the connection was lost')
  }
  const transport: Transport = {
    get features() {
      return inner.features
    },
    connect: options => inner.connect(options),
    close: () => inner.close(),
    nodes: () => inner.nodes(),
    controller: () => inner.controller(),
    supports: (node, api) => inner.supports(node, api),
    send,
    metadata: (topics, options) => inner.metadata(topics, options),
    coordinator: (kind, key, options) => inner.coordinator(kind, key, options),
    invalidate: node => inner.invalidate(node),
    [Symbol.asyncDispose]: () => inner.close(),
  }
  return {
    transport,
    lose: ({name}, times = 1) => losses.set(name, times),
  }
}
