import type {CallOptions, ClusterReader, OffsetAnswer, OffsetQuery, ReadRequest, RecordBlock} from '../ports.ts'
import type {TopicDescription} from '../ports.ts'
import {FetchSession} from './fetch-session.ts'
import type {ReadDeps} from './fetch-tuning.ts'
import {listOffsets} from './offsets.ts'
import {describeTopics} from './topics.ts'

/** How long offsets are asked for where there is no leader, ms. */
const OFFSETS_PATIENCE_MS = 5_000

/** Reads a cluster without any consumer group: nothing is joined and nothing committed. */
export class KafkaReader implements ClusterReader {
  readonly #deps: ReadDeps

  constructor(deps: ReadDeps) {
    this.#deps = deps
  }

  topics(names: readonly string[] | null, options?: CallOptions): Promise<readonly TopicDescription[]> {
    return describeTopics(this.#deps.transport, names, options)
  }

  offsets(queries: readonly OffsetQuery[], options?: CallOptions): Promise<readonly OffsetAnswer[]> {
    const {transport, clock} = this.#deps
    return listOffsets({transport, clock, patienceMs: OFFSETS_PATIENCE_MS}, queries, options)
  }

  async *read(request: ReadRequest, {signal}: CallOptions = {}): AsyncGenerator<RecordBlock, void, undefined> {
    signal?.throwIfAborted()
    const session = new FetchSession(this.#deps, request)
    const stop = (): void => session.stop(signal?.reason)
    signal?.addEventListener('abort', stop, {once: true})
    try {
      for (;;) {
        const block = await session.next()
        if (block === null) return
        yield block
      }
    } finally {
      signal?.removeEventListener('abort', stop)
      await session.close()
    }
  }
}
