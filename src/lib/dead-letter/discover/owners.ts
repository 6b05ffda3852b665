import type {Connector} from '../../connect-rest/connectors.ts'
import type {ClusterAdmin, GroupConfigs} from '../../kafka/ports.ts'
import type {CallOptions} from '../../kafka/ports.ts'

/** The one key that sink connectors (KIP-298) and share groups (KIP-1191) both use. */
const DLQ_TOPIC = 'errors.deadletterqueue.topic.name'

/** A configuration that names a dead letter topic. */
export interface Owner {
  readonly topic: string
  readonly source: 'connect' | 'share-group'
  /** `connector NAME` or `share group NAME`. */
  readonly name: string
  /** Topics it consumes, where they are listed. */
  readonly origins: readonly string[]
  readonly warnings: readonly OwnerWarning[]
}

/** What is wrong with an owner's configuration. */
export type OwnerWarning = 'no-context-headers' | 'tolerance-none' | 'owner-failed'

/** Dead letter topics of sink connectors. */
export function connectorOwners(connectors: readonly Connector[]): readonly Owner[] {
  return connectors.flatMap(({name, type, config, tasks}): Owner[] => {
    const topic = config[DLQ_TOPIC]?.trim() ?? ''
    // Source connectors ignore the key (one of MongoDB's reads it for itself).
    if (topic === '' || type === 'source') return []
    const warnings: OwnerWarning[] = []
    if (config['errors.deadletterqueue.context.headers.enable']?.toLowerCase() !== 'true')
      warnings.push('no-context-headers')
    if ((config['errors.tolerance'] ?? 'none') === 'none') warnings.push('tolerance-none')
    if (tasks.some(({state}) => state === 'FAILED')) warnings.push('owner-failed')
    const origins = (config['topics'] ?? '')
      .split(',')
      .map(origin => origin.trim())
      .filter(origin => origin !== '')
    return [{topic, source: 'connect', name: `connector ${name}`, origins, warnings}]
  })
}

/**
 * Dead letter topics of share groups.
 * @returns none on brokers that know no share groups
 * @throws KdlqError when groups cannot be listed
 */
export async function shareGroupOwners(admin: ClusterAdmin, options: CallOptions = {}): Promise<readonly Owner[]> {
  const groups = (await admin.groups(options)).filter(({type}) => type === 'share').map(({group}) => group)
  const configs = await admin.groupConfigs(groups, options)
  return configs.flatMap(({group, configs: own}: GroupConfigs): Owner[] => {
    const topic = own.get(DLQ_TOPIC)?.value?.trim() ?? ''
    return topic === '' ? [] : [{topic, source: 'share-group', name: `share group ${group}`, origins: [], warnings: []}]
  })
}
