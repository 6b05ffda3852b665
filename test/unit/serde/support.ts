import {createDecoders, createRegistryStore, type Decoders, parseDecodeFormats} from '../../../src/lib/serde/index.ts'
import {FakeClock} from '../../support/fake-clock.ts'
import {header} from '../../support/records.ts'
import type {StubRegistry} from '../../support/stub-registry.ts'
import type {RecordHeader} from '../../../src/lib/kafka/record.ts'

export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

/** A payload behind magic byte 0 and a schema id. */
export const framed = (id: number, ...parts: readonly (Buffer | Uint8Array | string)[]): Buffer => {
  const prefix = Buffer.alloc(5)
  prefix.writeInt32BE(id, 1)
  return Buffer.concat([prefix, ...parts.map(part => (typeof part === 'string' ? Buffer.from(part) : part))])
}

export interface Setup {
  readonly decoders: Decoders
  readonly clock: FakeClock
}

/** Decoders over a stub registry; null = without one. */
export async function setUp(
  stub: Pick<StubRegistry, 'url'> | null,
  options: {
    formats?: readonly string[]
    files?: Readonly<Record<string, string>>
    signal?: AbortSignal
    timeoutMs?: number
  } = {},
): Promise<Setup> {
  const clock = new FakeClock()
  const config =
    stub === null
      ? null
      : {urls: [new URL(stub.url)], authorization: () => null, tls: null, timeoutMs: options.timeoutMs ?? 5000}
  const store = createRegistryStore(config, {clock}, {signal: options.signal})
  const readFile = async (path: string): Promise<string> => {
    const text = options.files?.[path]
    if (text === undefined) throw Object.assign(new Error('no such file'), {code: 'ENOENT'})
    return text
  }
  return {clock, decoders: await createDecoders({store, readFile}, parseDecodeFormats(options.formats ?? []))}
}

/** A record with a value (and a key, and headers). */
export function payloads(
  value: Buffer | string | null,
  key: Buffer | string | null = null,
  headers: readonly (readonly [string, string | Buffer | null])[] = [],
): {readonly key: Buffer | null; readonly value: Buffer | null; readonly headers: readonly RecordHeader[]} {
  const bytes = (one: Buffer | string | null): Buffer | null => (typeof one === 'string' ? Buffer.from(one) : one)
  return {key: bytes(key), value: bytes(value), headers: headers.map(([name, content]) => header(name, content))}
}
