const SEED = 0x9747b28c
const M = 0x5bd1e995

/**
 * MurmurHash2 as Kafka's Java client computes it.
 * @returns signed 32-bit integer
 * @see org.apache.kafka.common.utils.Utils.murmur2
 */
export function murmur2(data: Uint8Array): number {
  const length = data.length
  let h = SEED ^ length
  let at = 0
  for (; at + 4 <= length; at += 4) {
    let k = (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16) | ((data[at + 3] ?? 0) << 24)
    k = Math.imul(k, M)
    k ^= k >>> 24
    k = Math.imul(k, M)
    h = Math.imul(h, M) ^ k
  }
  const rest = length - at
  if (rest === 3) h ^= (data[at + 2] ?? 0) << 16
  if (rest >= 2) h ^= (data[at + 1] ?? 0) << 8
  if (rest >= 1) h = Math.imul(h ^ (data[at] ?? 0), M)
  h ^= h >>> 13
  h = Math.imul(h, M)
  return h ^ (h >>> 15)
}

/**
 * The partition that Kafka's Java producer gives a key.
 * @param partitions at least 1
 * @see org.apache.kafka.clients.producer.internals.BuiltInPartitioner.partitionForKey
 */
export function partitionForKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions
}
