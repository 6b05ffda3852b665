/** Bytes of Kafka's protocol to values and back. Reads never trust a length; what does not fit is a ProtocolFormatError. */
import {BugError, KafkaError} from '../../errors.ts'

/** What a topic id is when there is none: sixteen zero bytes, URL-safe base64. */
export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA'

/** A broker's answer does not follow the protocol: a length, a count or a text that cannot be (not retriable). */
export class ProtocolFormatError extends KafkaError {
  constructor(message: string, offset: number) {
    super(`malformed answer: ${message}`, {code: 'E_PROTOCOL_FORMAT', context: {byteOffset: offset}})
  }
}

/** Reads one message from front to back. Byte fields are views of the buffer, not copies. */
export class WireReader {
  readonly #buffer: Buffer
  readonly #flexible: boolean
  #offset: number
  #end: number

  /** @param flexible whether lengths are compact and structs end in a tag section (KIP-482) */
  constructor(buffer: Buffer, flexible: boolean, offset = 0) {
    this.#buffer = buffer
    this.#flexible = flexible
    this.#offset = offset
    this.#end = buffer.length
  }

  /** Position of the next byte. */
  get offset(): number {
    return this.#offset
  }

  get remaining(): number {
    return this.#end - this.#offset
  }

  bool(): boolean {
    return this.#buffer.readInt8(this.#take(1)) !== 0
  }

  int8(): number {
    return this.#buffer.readInt8(this.#take(1))
  }

  int16(): number {
    return this.#buffer.readInt16BE(this.#take(2))
  }

  uint16(): number {
    return this.#buffer.readUInt16BE(this.#take(2))
  }

  int32(): number {
    return this.#buffer.readInt32BE(this.#take(4))
  }

  int64(): bigint {
    return this.#buffer.readBigInt64BE(this.#take(8))
  }

  uuid(): string {
    const at = this.#take(16)
    return this.#buffer.toString('base64url', at, at + 16)
  }

  unsignedVarint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#buffer.readUInt8(this.#take(1))
      if (shift === 28 && byte > 0x0f) break
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw this.#malformed('number of more than 32 bits')
  }

  string(): string {
    return this.nullableString() ?? this.#unexpectedNull()
  }

  nullableString(): string | null {
    const length = this.#flexible ? this.unsignedVarint() - 1 : this.int16()
    if (length < 0) return this.#nullFor(length)
    const at = this.#take(length)
    return this.#buffer.toString('utf8', at, at + length)
  }

  bytes(): Buffer {
    return this.nullableBytes() ?? this.#unexpectedNull()
  }

  nullableBytes(): Buffer | null {
    const length = this.#flexible ? this.unsignedVarint() - 1 : this.int32()
    if (length < 0) return this.#nullFor(length)
    const at = this.#take(length)
    return this.#buffer.subarray(at, at + length)
  }

  array<T>(element: () => T): T[] {
    return this.nullableArray(element) ?? this.#unexpectedNull()
  }

  nullableArray<T>(element: () => T): T[] | null {
    const count = this.#flexible ? this.unsignedVarint() - 1 : this.int32()
    if (count < 0) return this.#nullFor(count)
    // Every element takes a byte at least, so a count above the rest of the message is a lie; nothing is allocated for it.
    if (count > this.remaining) throw this.#malformed(`${count} elements in ${this.remaining} bytes`)
    const values: T[] = []
    for (let index = 0; index < count; index++) values.push(element())
    return values
  }

  /** Tag section of a struct; nothing in versions that have none. `known` reads one tag's value, or returns false to skip it. */
  tags(known: (tag: number) => boolean = () => false): void {
    if (!this.#flexible) return
    const count = this.unsignedVarint()
    for (let index = 0; index < count; index++) {
      const tag = this.unsignedVarint()
      const size = this.unsignedVarint()
      const start = this.#take(size)
      const outerEnd = this.#end
      this.#offset = start
      this.#end = start + size
      if (!known(tag)) this.#offset = this.#end
      if (this.#offset !== this.#end) throw this.#malformed(`tag ${tag} has ${this.remaining} bytes too many`)
      this.#end = outerEnd
    }
  }

  /** @throws ProtocolFormatError when bytes are left over */
  expectEnd(): void {
    if (this.remaining > 0) throw this.#malformed(`${this.remaining} bytes too many`)
  }

  #take(size: number): number {
    const at = this.#offset
    if (size > this.#end - at) throw this.#malformed(`${size} bytes wanted, ${this.#end - at} left`)
    this.#offset = at + size
    return at
  }

  #nullFor(length: number): null {
    if (length !== -1) throw this.#malformed(`negative length ${length}`)
    return null
  }

  #unexpectedNull(): never {
    throw this.#malformed('null where a value is required')
  }

  #malformed(message: string): ProtocolFormatError {
    return new ProtocolFormatError(message, this.#offset)
  }
}

/** One tagged field to write: number, and what writes its value. */
export type TaggedField = readonly [tag: number, write: (w: WireWriter) => void]

/** Writes one message from front to back into a buffer that grows. */
export class WireWriter {
  #buffer: Buffer
  #length = 0
  readonly #flexible: boolean

  /** @param flexible whether lengths are compact and structs end in a tag section (KIP-482) */
  constructor(flexible: boolean, size = 256) {
    this.#flexible = flexible
    this.#buffer = Buffer.allocUnsafe(size)
  }

  /** What was written so far; a view that the next write may leave behind. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  bool(value: boolean): void {
    this.int8(value ? 1 : 0)
  }

  int8(value: number): void {
    const at = this.#grow(1)
    this.#buffer.writeInt8(value, at)
  }

  int16(value: number): void {
    const at = this.#grow(2)
    this.#buffer.writeInt16BE(value, at)
  }

  uint16(value: number): void {
    const at = this.#grow(2)
    this.#buffer.writeUInt16BE(value, at)
  }

  int32(value: number): void {
    const at = this.#grow(4)
    this.#buffer.writeInt32BE(value, at)
  }

  int64(value: bigint): void {
    const at = this.#grow(8)
    this.#buffer.writeBigInt64BE(value, at)
  }

  uuid(value: string): void {
    const bytes = Buffer.from(value, 'base64url')
    if (bytes.length !== 16) throw new BugError('a uuid has sixteen bytes', {context: {uuid: value}})
    this.#append(bytes)
  }

  unsignedVarint(value: number): void {
    let rest = value
    while (rest > 0x7f) {
      this.#byte((rest % 0x80) + 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.#byte(rest)
  }

  string(value: string): void {
    this.nullableString(value)
  }

  nullableString(value: string | null): void {
    if (value === null) {
      if (this.#flexible) this.unsignedVarint(0)
      else this.int16(-1)
      return
    }
    const length = Buffer.byteLength(value)
    if (this.#flexible) this.unsignedVarint(length + 1)
    else this.int16(length)
    const at = this.#grow(length)
    this.#buffer.write(value, at, 'utf8')
  }

  bytes(value: Buffer): void {
    this.nullableBytes(value)
  }

  nullableBytes(value: Buffer | null): void {
    this.#count(value === null ? -1 : value.length)
    if (value !== null) this.#append(value)
  }

  array<T>(values: readonly T[], element: (value: T) => void): void {
    this.nullableArray(values, element)
  }

  nullableArray<T>(values: readonly T[] | null, element: (value: T) => void): void {
    this.#count(values === null ? -1 : values.length)
    for (const value of values ?? []) element(value)
  }

  /** Tag section of a struct, tags in ascending order; nothing in versions that have none. */
  tags(fields: readonly TaggedField[] = []): void {
    if (!this.#flexible) return
    this.unsignedVarint(fields.length)
    for (const [tag, write] of fields) {
      const inner = new WireWriter(true)
      write(inner)
      this.unsignedVarint(tag)
      const value = inner.finish()
      this.unsignedVarint(value.length)
      this.#append(value)
    }
  }

  /** @throws BugError always: this version of the message has no place for the value */
  unsupported(field: string, version: number): never {
    throw new BugError(`${field} cannot be sent in version ${version}`, {context: {field, version}})
  }

  #count(count: number): void {
    if (this.#flexible) this.unsignedVarint(count + 1)
    else this.int32(count)
  }

  #byte(value: number): void {
    const at = this.#grow(1)
    this.#buffer[at] = value
  }

  #append(bytes: Buffer): void {
    const at = this.#grow(bytes.length)
    bytes.copy(this.#buffer, at)
  }

  #grow(size: number): number {
    const at = this.#length
    const needed = at + size
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed + 64, this.#buffer.length * 2))
      this.#buffer.copy(larger, 0, 0, at)
      this.#buffer = larger
    }
    this.#length = needed
    return at
  }
}
