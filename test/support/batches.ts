import {RecordBatchBuilder, type EncodeOptions} from '../../src/lib/kafka/records/batch-builder.ts'
import {crc32c} from '../../src/lib/kafka/records/crc32c.ts'
import type {OutgoingRecord} from '../../src/lib/kafka/records/types.ts'

export interface BatchOptions extends Partial<EncodeOptions> {
  readonly baseOffset?: bigint
  readonly control?: boolean
  readonly logAppendTime?: bigint
  /** Changes header or records before the checksum is made. */
  readonly patch?: (batch: Buffer) => void
}

export function outgoing(fields: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return {timestamp: 1_700_000_000_000n, key: null, value: null, headers: [], ...fields}
}

/** A batch as a broker would hand it out: with offsets, and with a right checksum over whatever `patch` did. */
export function encodeBatch(records: readonly OutgoingRecord[], options: BatchOptions = {}): Buffer {
  const builder = new RecordBatchBuilder()
  for (const record of records) builder.append(record)
  const batch = builder.encode({
    compression: options.compression ?? 'none',
    producerId: options.producerId ?? -1n,
    producerEpoch: options.producerEpoch ?? -1,
    baseSequence: options.baseSequence ?? -1,
    transactional: options.transactional ?? false,
  })
  batch.writeBigInt64BE(options.baseOffset ?? 0n, 0)
  let attributes = batch.readInt16BE(21)
  if (options.control === true) attributes |= 32
  if (options.logAppendTime !== undefined) {
    attributes |= 8
    batch.writeBigInt64BE(options.logAppendTime, 35)
  }
  batch.writeInt16BE(attributes, 21)
  options.patch?.(batch)
  return withChecksum(batch)
}

/** Make the checksum right again after a change. */
export function withChecksum(batch: Buffer): Buffer {
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

/** The end marker of a transaction: key version 0 and type 0 (abort) or 1 (commit), value as brokers write it. */
export function markerBatch(kind: 'abort' | 'commit', producerId: bigint, baseOffset: bigint): Buffer {
  const key = Buffer.from([0, 0, 0, kind === 'abort' ? 0 : 1])
  return encodeBatch([outgoing({key, value: Buffer.from('000000000000', 'hex')})], {
    baseOffset,
    producerId,
    producerEpoch: 0,
    control: true,
    transactional: true,
  })
}
