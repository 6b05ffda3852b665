/** Bounds on what one batch may make kdlq allocate. */
export interface RecordLimits {
  /** Largest decompressed records section of one batch, bytes. */
  readonly maxDecompressedBytes: number
  /** Largest single record with its key, value and headers, bytes. */
  readonly maxRecordBytes: number
}

/**
 * 100 MiB is `socket.request.max.bytes`, the largest request that a broker takes by default: records that no producer
 * could have sent uncompressed are not decompressed either.
 */
export const DEFAULT_LIMITS: RecordLimits = {
  maxDecompressedBytes: 104_857_600,
  maxRecordBytes: 104_857_600,
}
