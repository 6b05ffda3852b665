import type {KafkaRecord} from '../kafka/record.ts'
import type {CompiledSchema} from './compiled.ts'
import {toProblem} from './fault.ts'
import type {AskedFormat, DecodeFormat, DecodeFormats} from './format.ts'
import {AUTO_FORMATS} from './format.ts'
import {PartDecoder, type Engines} from './part-decoder.ts'
import type {SchemaStore} from './registry/store.ts'
import {loadSchemaFile} from './schema-file.ts'
import type {DecodeOptions} from './options.ts'
import type {DecodedPart, DecodedRecord, DecodeProblem, Part} from './types.ts'

/** What is decoded: a record, or its payloads and headers. */
export type Payloads = Pick<KafkaRecord, 'key' | 'value' | 'headers'>

/** Decodes keys and values. Never throws because of a payload. */
export interface Decoders {
  /** Asks the registry for the schemas that `decode` will need; undefined when none has to be asked for. @throws the signal's reason */
  prepare(record: Payloads): Promise<void> | undefined
  /** As `prepare`, for one of the two. */
  preparePart(part: Part, record: Payloads): Promise<void> | undefined
  /** What is known now: without `prepare`, a schema that was not asked for is an error of the record. */
  decode(record: Payloads, options?: DecodeOptions): DecodedRecord
  /** As `decode`, for one of the two. */
  decodePart(part: Part, record: Payloads, options?: DecodeOptions): DecodedPart
  /** `prepare` and `decode`. */
  decodeFetched(record: Payloads, options?: DecodeOptions): Promise<DecodedRecord>
  /** A registry that did not answer is asked at the next `prepare`, not only after a pause. */
  askAgain(): void
  /** True once a schema had to be asked for. */
  readonly hasAsked: boolean
  /** Problems of the registry as a whole, each once. */
  readonly troubles: readonly DecodeProblem[]
}

/** What decoders ask when a payload needs it. */
export interface DecoderDeps {
  readonly store: SchemaStore
  /** Reads a schema file as text. */
  readonly readFile: (path: string) => Promise<string>
}

/**
 * Decoders for one run. Loads what the formats need, and schema files at once.
 * @throws UsageError for a schema file that cannot be read or is no schema
 */
export async function createDecoders(deps: DecoderDeps, formats: DecodeFormats = AUTO_FORMATS): Promise<Decoders> {
  const engines = await loadEngines(formats)
  const create = async (part: Part): Promise<PartDecoder> =>
    new PartDecoder(part, formats[part], {store: deps.store, engines, file: await loadFile(formats[part], deps)})
  return new AllDecoders(deps.store, {key: await create('key'), value: await create('value')})
}

async function loadFile({format, schema}: DecodeFormat, {readFile}: DecoderDeps): Promise<CompiledSchema | null> {
  return schema?.kind === 'file' ? loadSchemaFile(readFile, format, schema) : null
}

async function loadEngines({key, value}: DecodeFormats): Promise<Engines> {
  const isAsked = (format: AskedFormat): boolean => key.format === format || value.format === format
  const packed = isAsked('msgpack') || isAsked('cbor') ? await import('./packed.ts') : null
  return {
    msgpack: packed !== null && isAsked('msgpack') ? await packed.createMsgpack() : null,
    cbor: packed !== null && isAsked('cbor') ? await packed.createCbor() : null,
  }
}

class AllDecoders implements Decoders {
  readonly #store: SchemaStore
  readonly #parts: Readonly<Record<Part, PartDecoder>>
  #hasAsked = false

  constructor(store: SchemaStore, parts: Readonly<Record<Part, PartDecoder>>) {
    this.#store = store
    this.#parts = parts
  }

  get hasAsked(): boolean {
    return this.#hasAsked
  }

  get troubles(): readonly DecodeProblem[] {
    return this.#store.troubles
  }

  prepare(record: Payloads): Promise<void> | undefined {
    const key = this.preparePart('key', record)
    const value = this.preparePart('value', record)
    return key === undefined || value === undefined ? (key ?? value) : Promise.all([key, value]).then(() => undefined)
  }

  preparePart(part: Part, record: Payloads): Promise<void> | undefined {
    const want = this.#parts[part].wants(record[part], record.headers)
    if (want === null || this.#store.known(want.ref, want.message) !== null) return undefined
    this.#hasAsked = true
    return this.#store.load(want.ref, want.message)
  }

  askAgain(): void {
    this.#store.askAgain()
  }

  decode(record: Payloads, options: DecodeOptions = {}): DecodedRecord {
    return {key: this.decodePart('key', record, options), value: this.decodePart('value', record, options)}
  }

  async decodeFetched(record: Payloads, options: DecodeOptions = {}): Promise<DecodedRecord> {
    await this.prepare(record)
    return this.decode(record, options)
  }

  decodePart(part: Part, record: Payloads, options: DecodeOptions = {}): DecodedPart {
    try {
      return this.#parts[part].decode(record[part], record.headers, options)
    } catch (error) {
      // Nothing in there should throw; a record is no reason to end a run.
      return {format: 'bytes', value: null, error: toProblem(error, 'decode')}
    }
  }
}
