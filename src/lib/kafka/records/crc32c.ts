import {crc32c as wasmCrc32c} from '@platformatic/wasm-utils/bundled'

/** CRC-32C (Castagnoli) of the bytes, unsigned 32 bits; the checksum of record batches. */
export function crc32c(bytes: Uint8Array): number {
  return wasmCrc32c(bytes)
}
