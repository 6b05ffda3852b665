import {isUtf8} from 'node:buffer'
import type {RecordHeader} from '../kafka/record.ts'
import type {CompiledSchema} from './compiled.ts'
import {externalPayloadHeader} from './external.ts'
import {DecodeFault, toProblem} from './fault.ts'
import type {AskedFormat, DecodeFormat} from './format.ts'
import {type Frame, readGlueVersion, readHeaderFrame, readPrefixFrame, type SchemaRef} from './framing.ts'
import {decodeJson, looksLikeJson} from './json/decode.ts'
import type {DecodeOptions} from './options.ts'
import type {Unpack} from './packed.ts'
import {decodeFixed, decodeText} from './plain.ts'
import type {SubjectVersion} from './registry/client.ts'
import type {SchemaStore} from './registry/store.ts'
import {springTypeId} from './spring.ts'
import type {DecodedPart, DecodeProblem, Part, PayloadFormat, SchemaFacts, SchemaType} from './types.ts'

/** Libraries that are loaded only when their format is asked for. */
export interface Engines {
  readonly msgpack: Unpack | null
  readonly cbor: Unpack | null
}

/** What the decoder of one part asks. */
export interface PartDeps {
  readonly store: SchemaStore
  readonly engines: Engines
  /** The schema of a file; null when none is named. */
  readonly file: CompiledSchema | null
}

interface Want {
  readonly ref: SchemaRef
  readonly message: string | null
}

const FORMAT_OF: Readonly<Record<SchemaType, PayloadFormat>> = {AVRO: 'avro', PROTOBUF: 'protobuf', JSON: 'jsonschema'}
/** The first message of a schema, as message indexes write it. */
const FIRST_MESSAGE = Buffer.from([0])
/** Java's object stream: never read (CVE-2023-34040). */
const JAVA_STREAM = Buffer.from([0xac, 0xed, 0x00, 0x05])

/** Decodes keys, or values. */
export class PartDecoder {
  readonly #part: Part
  readonly #asked: DecodeFormat
  readonly #deps: PartDeps

  constructor(part: Part, asked: DecodeFormat, deps: PartDeps) {
    this.#part = part
    this.#asked = asked
    this.#deps = deps
  }

  /** The schema that a payload needs from the registry; null when none. */
  wants(bytes: Buffer | null, headers: readonly RecordHeader[]): Want | null {
    if (bytes === null) return null
    const {format, schema} = this.#asked
    if (schema !== null) return schema.kind === 'registry' ? {ref: schema.ref, message: schema.message} : null
    if (format !== 'auto' && format !== 'avro' && format !== 'protobuf' && format !== 'jsonschema') return null
    if (format === 'auto' && this.#external(bytes, headers) !== null) return null
    try {
      const frame = readHeaderFrame(this.#part, bytes, headers) ?? readPrefixFrame(bytes)
      return frame === null ? null : {ref: frame.ref, message: null}
    } catch (error) {
      if (error instanceof DecodeFault) return null
      throw error
    }
  }

  decode(bytes: Buffer | null, headers: readonly RecordHeader[], options: DecodeOptions): DecodedPart {
    const typeId = springTypeId(this.#part, headers)
    const type = typeId === null ? {} : {typeId}
    if (bytes === null) return {format: 'null', value: null, ...type}
    const decoded = this.#guarded(bytes, () => this.#read(this.#asked.format, bytes, headers, options.topics ?? []))
    const expected = options.expect?.[this.#part]
    if (expected === undefined || decoded.error !== undefined || this.#asked.format !== 'auto')
      return {...decoded, ...type}
    const {error} = this.#guarded(bytes, () => this.#read(expected, bytes, headers, []))
    const told = error === undefined ? {} : {error: {...error, message: `read as ${expected}, ${error.message}`}}
    return {...decoded, ...type, ...told}
  }

  /** A failure leaves the text, if it is one, and the reason. */
  #guarded(bytes: Buffer, read: () => DecodedPart): DecodedPart {
    try {
      return read()
    } catch (error) {
      return failed(bytes, toProblem(error, 'decode'))
    }
  }

  #read(format: AskedFormat, bytes: Buffer, headers: readonly RecordHeader[], topics: readonly string[]): DecodedPart {
    switch (format) {
      case 'auto':
        return this.#auto(bytes, headers, topics)
      case 'text':
        return {format, value: decodeText(bytes)}
      case 'json':
        return {format, value: decodeJson(bytes)}
      case 'hex':
        return {format, value: `0x${bytes.toString('hex')}`}
      case 'msgpack':
      case 'cbor': {
        const unpack = this.#deps.engines[format]
        if (unpack === null) throw new DecodeFault('decode', `${format} is not loaded`)
        return {format, value: unpack(bytes)}
      }
      case 'avro':
      case 'protobuf':
      case 'jsonschema':
        return this.#bySchema(bytes, headers, topics)
      case 'int32':
      case 'int64':
      case 'float32':
      case 'float64':
      case 'uuid':
        break
    }
    return {format, value: decodeFixed(format, bytes)}
  }

  #bySchema(bytes: Buffer, headers: readonly RecordHeader[], topics: readonly string[]): DecodedPart {
    const {schema} = this.#asked
    const {file} = this.#deps
    const payload = {bytes, start: 0, indexes: FIRST_MESSAGE}
    if (file !== null) return this.#decodeBy(file, {ref: null, payload}, {type: file.type})
    if (schema?.kind === 'registry') return this.#framed({ref: schema.ref, payload}, schema.message, topics)
    const frame = readHeaderFrame(this.#part, bytes, headers) ?? readPrefixFrame(bytes)
    if (frame === null) throw new DecodeFault('framing', notFramed(bytes), {at: 0})
    return this.#framed(frame, null, topics)
  }

  #auto(bytes: Buffer, headers: readonly RecordHeader[], topics: readonly string[]): DecodedPart {
    const external = this.#external(bytes, headers)
    if (external !== null) {
      return failed(
        bytes,
        {step: 'detect', message: `external payload: header ${external} says that this is a pointer to it`},
        'external',
      )
    }
    const frame = readHeaderFrame(this.#part, bytes, headers) ?? readPrefixFrame(bytes)
    if (frame !== null) return this.#framed(frame, null, topics)
    const glue = readGlueVersion(bytes)
    if (glue !== null) {
      const message = `in the frame of the AWS Glue schema registry, which is not asked: schema version ${glue}`
      return {format: 'glue', value: null, schema: {guid: glue}, error: {step: 'registry', reason: 'none', message}}
    }
    if (bytes.subarray(0, 4).equals(JAVA_STREAM)) {
      return {
        format: 'java',
        value: null,
        error: {step: 'detect', message: 'a serialised Java object, which is not read'},
      }
    }
    return plain(bytes)
  }

  #external(bytes: Buffer, headers: readonly RecordHeader[]): string | null {
    return this.#part === 'value' ? externalPayloadHeader(bytes, headers) : null
  }

  #framed({ref, payload}: Frame, message: string | null, topics: readonly string[]): DecodedPart {
    const known = this.#deps.store.known(ref, message)
    if (known?.kind === 'schema') {
      return this.#decodeBy(
        known.schema,
        {ref, payload},
        {...known.facts, ...this.#chooseSubject(known.subjects, topics)},
      )
    }
    const problem: DecodeProblem = known?.problem ?? {
      step: 'registry',
      reason: 'none',
      message: 'the schema was not asked for',
    }
    return {...unframed(payload.bytes.subarray(payload.start)), schema: factsOf(ref), error: problem}
  }

  #decodeBy(
    schema: CompiledSchema,
    {ref, payload}: {ref: SchemaRef | null; payload: Frame['payload']},
    facts: SchemaFacts,
  ): DecodedPart {
    try {
      const {value, name, problem} = schema.decode(payload)
      return {
        format: FORMAT_OF[schema.type],
        value,
        schema: {...facts, ...(name === null ? {} : {name})},
        ...(problem === undefined ? {} : {error: problem}),
      }
    } catch (error) {
      return {
        format: FORMAT_OF[schema.type],
        value: null,
        schema: {...(ref === null ? {} : factsOf(ref)), ...facts},
        error: toProblem(error, 'decode'),
      }
    }
  }

  /** Subject of the topic, else one for this part, else the first. */
  #chooseSubject(subjects: readonly SubjectVersion[], topics: readonly string[]): Partial<SubjectVersion> {
    const suffix = `-${this.#part}`
    const names = topics.map(topic => `${topic}${suffix}`)
    const named = names.map(name => subjects.find(({subject}) => subject === name)).find(found => found !== undefined)
    return named ?? subjects.find(({subject}) => subject.endsWith(suffix)) ?? subjects[0] ?? {}
  }
}

/** Without a frame: JSON, text, or nothing that can be named. */
function plain(bytes: Buffer): DecodedPart {
  const isText = isUtf8(bytes)
  if (isText && !mayBeJson(bytes)) return {format: 'text', value: bytes.toString('utf8')}
  if (!isText && !looksLikeJson(bytes)) {
    return {
      format: 'bytes',
      value: null,
      error: {step: 'detect', message: 'neither text nor in the frame of a known format'},
    }
  }
  try {
    return {format: 'json', value: decodeJson(bytes)}
  } catch (error) {
    const problem = toProblem(error, 'decode')
    // `17 apples` is text; `{"id": 17 apples` was meant to be JSON.
    if (isText && !looksLikeJson(bytes)) return {format: 'text', value: bytes.toString('utf8')}
    return failed(bytes, {...problem, message: `looks like JSON, but ${problem.message}`})
  }
}

/** Bytes that a JSON value may begin with: a cheap no for most text. */
function mayBeJson(bytes: Buffer): boolean {
  if (looksLikeJson(bytes)) return true
  const first = bytes.find(byte => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
  return (
    first !== undefined &&
    (first === 0x22 || first === 0x2d || (first >= 0x30 && first <= 0x39) || 'tfn'.includes(String.fromCharCode(first)))
  )
}

function failed(bytes: Buffer, error: DecodeProblem, format: PayloadFormat | null = null): DecodedPart {
  const isText = isUtf8(bytes) && !bytes.includes(0)
  return {format: format ?? (isText ? 'text' : 'bytes'), value: isText ? bytes.toString('utf8') : null, error}
}

/** What can be said about a payload without its schema: JSON is readable as it is. */
function unframed(payload: Buffer): Pick<DecodedPart, 'format' | 'value'> {
  if (!looksLikeJson(payload)) return {format: 'bytes', value: null}
  try {
    return {format: 'json', value: decodeJson(payload)}
  } catch (error) {
    if (error instanceof DecodeFault) return {format: 'bytes', value: null}
    throw error
  }
}

function factsOf(ref: SchemaRef): SchemaFacts {
  if (ref.kind === 'id') return {id: ref.id}
  return ref.kind === 'guid' ? {guid: ref.guid} : {subject: ref.subject}
}

function notFramed(bytes: Buffer): string {
  const first = bytes[0]
  if (first === undefined) return 'not in wire format: there are no bytes'
  if (first === 0 && bytes.length < 5) return `not in wire format: ${bytes.length} bytes hold no schema id`
  const byte = `0x${first.toString(16).padStart(2, '0')}`
  return first === 0
    ? 'not in wire format: the schema id is not positive'
    : `not in wire format: byte ${byte} stands where 0 or 1 is expected`
}
