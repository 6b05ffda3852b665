import {hash} from 'node:crypto'
import type {KafkaRecord} from '../kafka/record.ts'

/** One dead letter as far as the search for repeated origins needs it. */
export interface OriginEntry {
  readonly origin: {readonly topic: string; readonly partition: number; readonly offset: bigint}
  readonly checksum: bigint
  readonly timestamp: bigint
  readonly source: {readonly topic: string; readonly partition: number; readonly offset: bigint}
  /** Where this copy would go: its partition, and its bytes there. */
  readonly targetPartition: number
  readonly targetBytes: number
}

/** The copy that stays behind. */
export interface OlderCopy {
  readonly source: OriginEntry['source']
  readonly targetPartition: number
  readonly targetBytes: number
}

/** What is known after one more dead letter of an origin was seen. */
export type OriginVerdict =
  | {readonly kind: 'first'}
  /** `differs` when key or value are not the same bytes. */
  | {readonly kind: 'repeated'; readonly older: OlderCopy; readonly differs: boolean}
  /** More origins than the table holds: this one was not remembered. */
  | {readonly kind: 'full'}

/** First 8 bytes of SHA-256 over length-prefixed key and value; a null differs from an empty one. */
export function payloadChecksum(record: Pick<KafkaRecord, 'key' | 'value'>): bigint {
  const {key, value} = record
  const lengths = Buffer.alloc(8)
  lengths.writeInt32BE(key?.length ?? -1, 0)
  lengths.writeInt32BE(value?.length ?? -1, 4)
  const all = Buffer.concat([lengths, key ?? Buffer.alloc(0), value ?? Buffer.alloc(0)])
  return hash('sha256', all, 'buffer').readBigUInt64BE(0)
}

/**
 * Finds origins that occur more than once in a selection, in numbers instead of objects: 96 bytes for one origin.
 * The newest copy is the one with the highest timestamp, then the one read last (topic, partition, offset order).
 */
export class OriginTable {
  /** Most origins that are remembered; 2,000,000 take 192 MiB. */
  readonly limit: number
  #capacity = 1024
  #used = 0
  #slots = slotsOf(1024)
  readonly #places: {topic: string; partition: number}[] = []
  readonly #placeIds = new Map<string, number>()

  constructor(limit = 2_000_000) {
    this.limit = limit
  }

  /** Note one dead letter; call in topic, partition, offset order. */
  add(entry: OriginEntry): OriginVerdict {
    const originPlace = this.#placeId(entry.origin)
    const sourcePlace = this.#placeId(entry.source)
    let slot = this.#find(originPlace, entry.origin.offset)
    if (this.#slots.origin[slot] === 0) {
      if (this.#used >= this.limit) return {kind: 'full'}
      if (this.#used * 2 >= this.#capacity) {
        this.#grow()
        slot = this.#find(originPlace, entry.origin.offset)
      }
      this.#used++
      this.#slots.origin[slot] = originPlace + 1
      this.#slots.originOffset[slot] = entry.origin.offset
      this.#keep(slot, sourcePlace, entry)
      return {kind: 'first'}
    }
    const differs = this.#slots.checksum[slot] !== entry.checksum
    const place = this.#places[(this.#slots.source[slot] ?? 1) - 1]
    const known: OlderCopy = {
      source: {
        topic: place?.topic ?? '',
        partition: place?.partition ?? 0,
        offset: this.#slots.sourceOffset[slot] ?? 0n,
      },
      targetPartition: this.#slots.targetPartition[slot] ?? 0,
      targetBytes: this.#slots.targetBytes[slot] ?? 0,
    }
    if (entry.timestamp < (this.#slots.timestamp[slot] ?? 0n)) return {kind: 'repeated', older: entry, differs}
    this.#keep(slot, sourcePlace, entry)
    return {kind: 'repeated', older: known, differs}
  }

  #keep(slot: number, sourcePlace: number, entry: OriginEntry): void {
    this.#slots.checksum[slot] = entry.checksum
    this.#slots.timestamp[slot] = entry.timestamp
    this.#slots.source[slot] = sourcePlace + 1
    this.#slots.sourceOffset[slot] = entry.source.offset
    this.#slots.targetPartition[slot] = entry.targetPartition
    this.#slots.targetBytes[slot] = entry.targetBytes
  }

  #placeId({topic, partition}: {topic: string; partition: number}): number {
    const key = `${partition} ${topic}`
    const known = this.#placeIds.get(key)
    if (known !== undefined) return known
    this.#placeIds.set(key, this.#places.length)
    return this.#places.push({topic, partition}) - 1
  }

  #find(place: number, offset: bigint): number {
    const mask = this.#capacity - 1
    const low = Number(BigInt.asUintN(32, offset))
    const high = Number(BigInt.asUintN(32, offset >> 32n))
    let h = Math.imul(low ^ Math.imul(high, 0x85ebca6b) ^ Math.imul(place + 1, 0x9e3779b1), 0xc2b2ae35)
    h ^= h >>> 15
    let slot = h & mask
    for (;;) {
      const taken = this.#slots.origin[slot]
      if (taken === 0) return slot
      if (taken === place + 1 && this.#slots.originOffset[slot] === offset) return slot
      slot = (slot + 1) & mask
    }
  }

  #grow(): void {
    const old = this.#slots
    const oldCapacity = this.#capacity
    this.#capacity *= 2
    this.#slots = slotsOf(this.#capacity)
    for (let from = 0; from < oldCapacity; from++) {
      const place = old.origin[from] ?? 0
      if (place === 0) continue
      const to = this.#find(place - 1, old.originOffset[from] ?? 0n)
      this.#slots.origin[to] = place
      this.#slots.originOffset[to] = old.originOffset[from] ?? 0n
      this.#slots.checksum[to] = old.checksum[from] ?? 0n
      this.#slots.timestamp[to] = old.timestamp[from] ?? 0n
      this.#slots.source[to] = old.source[from] ?? 0
      this.#slots.sourceOffset[to] = old.sourceOffset[from] ?? 0n
      this.#slots.targetPartition[to] = old.targetPartition[from] ?? 0
      this.#slots.targetBytes[to] = old.targetBytes[from] ?? 0
    }
  }
}

/** Places are stored plus one; 0 = free. */
function slotsOf(capacity: number) {
  return {
    origin: new Uint32Array(capacity),
    originOffset: new BigInt64Array(capacity),
    checksum: new BigUint64Array(capacity),
    timestamp: new BigInt64Array(capacity),
    source: new Uint32Array(capacity),
    sourceOffset: new BigInt64Array(capacity),
    targetPartition: new Uint32Array(capacity),
    targetBytes: new Uint32Array(capacity),
  }
}
