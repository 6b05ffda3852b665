/**
 * First level of the feature `metadata.version` in each Kafka release, newest first.
 * @see Kafka's MetadataVersion (KIP-778, KIP-584)
 */
const FIRST_LEVELS: readonly (readonly [level: number, release: string])[] = [
  [31, '4.4'],
  [30, '4.3'],
  [28, '4.2'],
  [26, '4.1'],
  [22, '4.0'],
  [21, '3.9'],
  [20, '3.8'],
  [15, '3.7'],
  [12, '3.6'],
  [9, '3.5'],
  [8, '3.4'],
  [4, '3.3'],
]
/** The newest level that Kafka 4.4 knows of itself. */
const NEWEST_LEVEL = 33

/**
 * Kafka release (such as `4.4`) whose features a cluster has finalized, from ApiVersions: what it behaves like. Its
 * brokers may be newer, never older.
 * @returns null without KRaft's `metadata.version`, and for releases newer than 4.4
 */
export function kafkaRelease(features: ReadonlyMap<string, number>): string | null {
  const level = features.get('metadata.version') ?? 0
  if (level > NEWEST_LEVEL) return null
  return FIRST_LEVELS.find(([first]) => level >= first)?.[1] ?? null
}
