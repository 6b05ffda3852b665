import type {Clock} from '../../clock.ts'
import type {HttpTls} from '../../http/requests.ts'
import {createRegistryClient, registryRequests} from './client.ts'
import {createSchemaStore, type SchemaStore} from './store.ts'

/** How a schema registry is reached. */
export interface RegistryConfig {
  /** At least one, as `parseRegistryUrls` gives them. */
  readonly urls: readonly URL[]
  /** Value of the Authorization header, asked for at every request and never kept; null = none. */
  readonly authorization: () => string | null
  readonly tls: HttpTls | null
  readonly timeoutMs: number
}

/**
 * The schemas of a registry. Connects when the first one is asked for.
 * @param config null = there is no registry: payloads that need one say so
 */
export function createRegistryStore(
  config: RegistryConfig | null,
  deps: {readonly clock: Pick<Clock, 'monotonic'>},
  options: {readonly signal?: AbortSignal | undefined} = {},
): SchemaStore {
  const client = config === null ? null : createRegistryClient(registryRequests(config), config.urls)
  return createSchemaStore({client, clock: deps.clock}, options)
}
