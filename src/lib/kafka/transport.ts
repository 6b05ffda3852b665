/** What the client adapter needs of a Kafka connection layer. Only client/kafkajs-*.ts knows that it is kafkajs. */
import type {NodeId} from './protocol/types.ts'
import type {Api, ApiRange, Node} from './protocol/types.ts'

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Highest version to use, where we and the broker know a higher one; the minima of both still hold. */
  readonly maxVersion?: number | undefined
  /** Raced against the answer, so it may be below the request timeout of the connection, which stays as it is. */
  readonly timeoutMs?: number | undefined
}

export interface Answer<Res> {
  readonly version: number
  readonly throttleMs: number
  readonly body: Res
}

export interface Transport extends AsyncDisposable {
  /** Any seed; throws the cause, not "retries exceeded". */
  connect(options?: {signal?: AbortSignal | undefined}): Promise<void>
  /** Never hangs; the process can end afterwards. */
  close(): Promise<void>
  /** Finalized features, e.g. transaction.version. */
  readonly features: ReadonlyMap<string, number>
  nodes(): readonly Node[]
  controller(): NodeId
  /** As advertised by that broker; null when it does not have this API. */
  supports(node: NodeId, api: number): ApiRange | null
  /** @throws TransportError (client/transport-error.ts) only; protocol errors are in the answer */
  send<Req, Res>(
    to: NodeId | 'any' | 'controller',
    api: Api<Req, Res>,
    body: Req,
    options?: RequestOptions,
  ): Promise<Answer<Res>>
  /** [] = brokers only, null = all topics. */
  metadata(topics: readonly string[] | null, options?: RequestOptions): Promise<ClusterMetadata>
  coordinator(kind: 'group' | 'transaction' | 'share', key: string, options?: RequestOptions): Promise<NodeId>
  /** Close what is open to this node, for a new connection at the next request. */
  invalidate(node: NodeId): void
}

export interface ClusterMetadata {
  readonly clusterId: string | null
  readonly controllerId: NodeId
  readonly topics: readonly TopicMetadata[]
}

export interface TopicMetadata {
  readonly name: string
  readonly id: string | null
  readonly error: number
  readonly internal: boolean
  readonly partitions: readonly PartitionMetadata[]
}

export interface PartitionMetadata {
  readonly index: number
  readonly error: number
  /** -1 = none */
  readonly leader: NodeId
  readonly leaderEpoch: number
  readonly replicas: readonly NodeId[]
  readonly isr: readonly NodeId[]
  readonly offline: readonly NodeId[]
}
