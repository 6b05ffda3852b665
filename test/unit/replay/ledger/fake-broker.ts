import {AuthError, BugError, KafkaError} from '../../../../src/lib/errors.ts'
import type {KdlqError} from '../../../../src/lib/errors.ts'
import type {
  Cluster,
  ConfigEntry,
  OutgoingBatch,
  ProduceResult,
  ReadNotice,
  RecordBlock,
  TransactionSession,
} from '../../../../src/lib/kafka/ports.ts'
import type {KafkaRecord, RecordHeader} from '../../../../src/lib/kafka/record.ts'
import {RecordBatchBuilder} from '../../../../src/lib/kafka/records/batch-builder.ts'

interface Transaction {
  readonly producerId: bigint
  state: 'open' | 'committed' | 'aborted'
  readonly timeoutMs: number
}

interface Entry {
  readonly offset: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
  readonly transaction: Transaction | null
}

interface Topic {
  readonly id: string
  readonly logs: {entries: Entry[]; next: bigint}[]
  readonly configs: Readonly<Record<string, string>>
}

interface Holder {
  producerId: bigint
  epoch: number
  current: Transaction | null
  readonly timeoutMs: number
}

/** A broker in memory that keeps transactions, high watermark and last stable offset apart as Kafka does. */
export class FakeBroker {
  readonly topics = new Map<string, Topic>()
  readonly holders = new Map<string, Holder>()
  /** Awaited at every request: a scheduler's turn, or a failure. */
  gate: (request: string) => Promise<void> = async () => undefined
  /** Why a batch is refused as a whole; null = it is taken. */
  refuse: (records: readonly KafkaRecord[]) => KdlqError | null = () => null
  /** Told in the last block of a read. */
  notices: readonly ReadNotice[] = []
  /** Answered to who asks about producers. */
  deniesAdmin = false
  requests: string[] = []
  #producers = 100n

  addTopic(name: string, partitions: number, configs: Readonly<Record<string, string>> = {}): void {
    const logs = Array.from({length: partitions}, () => ({entries: [], next: 0n}))
    this.topics.set(name, {id: `id-of-${name}`, logs, configs})
  }

  /** Every record of a partition, whatever became of its transaction. */
  entries(topic: string, partition: number): readonly Entry[] {
    return this.#log(topic, partition).entries
  }

  /** Cut a partition to nothing, as a recreated topic. */
  recreate(topic: string, partition: number): void {
    Object.assign(this.#log(topic, partition), {entries: [], next: 0n})
  }

  cluster(clusterId = 'cluster-1'): Cluster {
    return {
      description: {kind: 'kafka', clusterId, name: 'fake:9092'},
      reader: {
        topics: async names => {
          await this.#request('topics')
          return (names ?? [...this.topics.keys()]).map(name => {
            const topic = this.topics.get(name)
            const partitions = (topic?.logs ?? []).map((_, partition) => ({partition, leader: 1, error: null}))
            const code = 'E_UNKNOWN_TOPIC_OR_PARTITION'
            const error = topic === undefined ? new KafkaError('unknown topic', {code}) : null
            return {name, id: topic?.id ?? null, internal: false, partitions, error}
          })
        },
        offsets: async queries => {
          await this.#request('offsets')
          return queries.map(({topic, partition, at}) => {
            const log = this.#log(topic, partition)
            const offset = at === 'latest' ? log.next : at === 'last-stable' ? stableEnd(log) : 0n
            return {topic, partition, offset, error: null}
          })
        },
        read: request => this.#read(request),
      },
      writer: {
        open: async () => {
          await this.#request('open')
          return {
            produce: async batches => {
              await this.#request('produce')
              return batches.map(batch => this.#append(batch, null))
            },
            close: async () => undefined,
            [Symbol.asyncDispose]: async () => undefined,
          }
        },
        openTransactional: async ({transactionalId, transactionTimeoutMs}) => {
          await this.#request('openTransactional')
          return this.#open(transactionalId, transactionTimeoutMs)
        },
      },
      admin: {
        topicConfigs: async names => {
          await this.#request('topicConfigs')
          return names.map(topic => {
            const entries = Object.entries(this.topics.get(topic)?.configs ?? {})
            const configs = new Map<string, ConfigEntry>(
              entries.map(([name, value]) => [name, {value, isDefault: false}]),
            )
            const error = this.topics.has(topic) ? null : new KafkaError('unknown topic')
            return {topic, configs, error}
          })
        },
        createTopic: async ({name, partitions, configs}) => {
          await this.#request('createTopic')
          if (this.topics.has(name)) throw new KafkaError('topic exists', {code: 'E_TOPIC_ALREADY_EXISTS'})
          this.addTopic(name, partitions, configs)
        },
        committedOffsets: async () => [],
        groups: async () => [],
        groupConfigs: async () => [],
        activeProducers: async (topic, partition) => {
          await this.#request('activeProducers')
          if (this.deniesAdmin) throw new AuthError('not allowed')
          return this.#openTransactions(topic, partition).map(([transaction, start]) => ({
            producerId: transaction.producerId,
            producerEpoch: 0,
            lastTimestampMs: null,
            transactionStartOffset: start,
          }))
        },
        transactionsOf: async producerId => {
          await this.#request('transactionsOf')
          return [...this.holders]
            .filter(([, holder]) => holder.producerId === producerId)
            .map(([transactionalId, {timeoutMs}]) => {
              return {transactionalId, state: 'Ongoing', producerId, startTimeMs: 0n, timeoutMs}
            })
        },
      },
      close: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  async #request(name: string): Promise<void> {
    this.requests.push(name)
    await this.gate(name)
  }

  async *#read({ranges, isolationLevel}: Parameters<Cluster['reader']['read']>[0]): AsyncGenerator<RecordBlock> {
    for (const {topic, partition, from, to} of ranges) {
      await this.#request('read')
      const log = this.#log(topic, partition)
      const committed = isolationLevel === 'read_committed'
      const end = to ?? log.next
      if (committed && stableEnd(log) < end) throw new BugError('the reader went past the last stable offset')
      const records = new RecordBatchBuilder()
      for (const {offset, key, value, headers, transaction} of log.entries) {
        if (offset < from || offset >= end || (committed && transaction?.state === 'aborted')) continue
        records.append({timestamp: 0n, key, value, headers}, Number(offset - from))
      }
      yield {
        topic,
        partition,
        batches: records.count === 0 ? [] : [records.view({baseOffset: from, timestampType: 'CreateTime'})],
        from,
        to,
        nextOffset: end,
        bytes: records.sizeInBytes,
        controlRecords: 0,
        abortedRecords: 0,
        notices: this.notices,
        throttleMs: 0,
        done: true,
      }
    }
  }

  #open(transactionalId: string, timeoutMs: number): TransactionSession {
    const before = this.holders.get(transactionalId)
    if (before !== undefined && before.current?.state === 'open') this.#end(before, before.current, 'aborted')
    const holder: Holder = {
      producerId: before?.producerId ?? this.#producers++,
      epoch: (before?.epoch ?? -1) + 1,
      current: null,
      timeoutMs,
    }
    this.holders.set(transactionalId, holder)
    const check = (): void => {
      if (this.holders.get(transactionalId) !== holder) throw new KafkaError('fenced', {code: 'E_FENCED'})
    }
    const end = async (state: 'committed' | 'aborted'): Promise<void> => {
      await this.#request(state)
      check()
      const {current} = holder
      holder.current = null
      if (current !== null) this.#end(holder, current, state)
    }
    return {
      protocol: 2,
      producerId: holder.producerId,
      get isOpen() {
        return holder.current !== null
      },
      begin: () => {
        if (holder.current !== null) throw new BugError('a transaction is open')
      },
      produce: async batches => {
        await this.#request('produce')
        check()
        holder.current ??= {producerId: holder.producerId, state: 'open', timeoutMs}
        const {current} = holder
        return batches.map(batch => this.#append(batch, current))
      },
      commit: () => end('committed'),
      abort: () => end('aborted'),
      close: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  #end(holder: Holder, transaction: Transaction, state: 'committed' | 'aborted'): void {
    transaction.state = state
    holder.current = null
    for (const topic of this.topics.values()) {
      // The marker takes an offset, so that the high watermark lies behind the last record.
      for (const log of topic.logs) if (log.entries.some(entry => entry.transaction === transaction)) log.next++
    }
  }

  #append({topic, partition, records}: OutgoingBatch, transaction: Transaction | null): ProduceResult {
    const log = this.#log(topic, partition)
    const baseOffset = log.next
    const cursor = records.view({baseOffset, timestampType: 'CreateTime'}).cursor()
    const written: KafkaRecord[] = []
    while (cursor.next()) written.push(cursor.toRecord(topic, partition))
    const error = this.refuse(written)
    if (error !== null) return {topic, partition, baseOffset: null, logAppendTimeMs: null, error, recordErrors: []}
    for (const {key, value, headers, offset} of written) log.entries.push({offset, key, value, headers, transaction})
    log.next += BigInt(records.count)
    return {topic, partition, baseOffset, logAppendTimeMs: null, error: null, recordErrors: []}
  }

  #openTransactions(topic: string, partition: number): readonly (readonly [Transaction, bigint])[] {
    const starts = new Map<Transaction, bigint>()
    for (const {transaction, offset} of this.#log(topic, partition).entries) {
      if (transaction?.state === 'open' && !starts.has(transaction)) starts.set(transaction, offset)
    }
    return [...starts]
  }

  #log(topic: string, partition: number): Topic['logs'][number] {
    const log = this.topics.get(topic)?.logs[partition]
    if (log === undefined) throw new KafkaError(`no ${topic}:${partition}`)
    return log
  }
}

function stableEnd({entries, next}: Topic['logs'][number]): bigint {
  return entries.find(({transaction}) => transaction?.state === 'open')?.offset ?? next
}
