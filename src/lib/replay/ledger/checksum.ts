import {hash} from 'node:crypto'

const NOTHING = Buffer.alloc(0)

/**
 * SHA-256 of a record's payload: the length of the key and the length of the value, each an int32 (big endian, -1 = null),
 * then the bytes of the key, then those of the value. So null, empty, and a shifted boundary all differ.
 * @returns 32 bytes
 */
export function payloadSha256(key: Buffer | null, value: Buffer | null): Buffer {
  const lengths = Buffer.allocUnsafe(8)
  lengths.writeInt32BE(key?.length ?? -1, 0)
  lengths.writeInt32BE(value?.length ?? -1, 4)
  return hash('sha256', Buffer.concat([lengths, key ?? NOTHING, value ?? NOTHING]), 'buffer')
}
