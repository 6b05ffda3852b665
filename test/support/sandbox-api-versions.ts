import {request} from '../../sandbox/probe.ts'

/** A reader of the compact forms of Kafka's flexible protocol versions, written apart from kdlq's own. */
class Flexible {
  readonly #bytes: Buffer
  #at = 0
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  int16(): number {
    this.#at += 2
    return this.#bytes.readInt16BE(this.#at - 2)
  }

  uvarint(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#at)
      this.#at += 1
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }

  skip(bytes: number): void {
    this.#at += bytes
  }

  text(): string {
    const length = this.uvarint() - 1
    this.#at += length
    return this.#bytes.toString('utf8', this.#at - length, this.#at)
  }

  skipTags(): void {
    for (let left = this.uvarint(); left > 0; left--) {
      this.uvarint()
      this.skip(this.uvarint())
    }
  }
}

/**
 * Features that the cluster has finalized, by name, from the broker's answer to ApiVersions v3.
 * @throws Error when the broker answers with an error code
 */
export async function finalizedFeatures(port: number): Promise<ReadonlyMap<string, number>> {
  const name = Buffer.concat([Buffer.from([5]), Buffer.from('kdlq')])
  const version = Buffer.from([2, 0x31])
  const body = Buffer.concat([name, version, Buffer.from([0])])
  const answer = new Flexible(await request(port, {apiKey: 18, apiVersion: 3, flexible: true}, body))
  const error = answer.int16()
  if (error !== 0) throw new Error(`ApiVersions answered error code ${error}`)
  for (let left = answer.uvarint() - 1; left > 0; left--) {
    answer.skip(6)
    answer.skipTags()
  }
  answer.skip(4)
  const features = new Map<string, number>()
  for (let tags = answer.uvarint(); tags > 0; tags--) {
    const tag = answer.uvarint()
    const size = answer.uvarint()
    // 0: supported features, 1: epoch of the finalized ones, 2: finalized features.
    if (tag !== 2) {
      answer.skip(size)
      continue
    }
    for (let left = answer.uvarint() - 1; left > 0; left--) {
      const feature = answer.text()
      features.set(feature, answer.int16())
      answer.skip(2)
      answer.skipTags()
    }
  }
  return features
}
