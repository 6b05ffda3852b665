import type {ConnectSchema, Converter, HeaderConverter, SchemaAndValue} from '../data.ts'
import {DataException, JavaException} from '../errors.ts'
import {readJson, JsonSyntaxError, type JsonNode} from './json-reader.ts'
import {isObject, readSchema} from './json-schema.ts'
import {toConnect} from './json-to-connect.ts'
import {type DataSchema, isDataSchema} from './schema.ts'
import {schemaText, toJson} from './connect-to-json.ts'

/** Settings of Connect's `JsonConverter`. */
export interface JsonConverterOptions {
  /** `schemas.enable`; true when absent, as in Connect. */
  readonly schemasEnable?: boolean | undefined
  /** `replace.null.with.default`; true when absent. */
  readonly replaceNullWithDefault?: boolean | undefined
}

const NULL: SchemaAndValue = {schema: null, value: null}

/**
 * JSON with schemas (an envelope of `schema` and `payload`) or without. Data without a schema are Map, array, string, bigint
 * (INT64), number (FLOAT64), boolean and null.
 * @see Connect's JsonConverter
 */
export class JsonConverter implements Converter, HeaderConverter {
  readonly className = 'org.apache.kafka.connect.json.JsonConverter'
  readonly #schemasEnable: boolean
  readonly #replaceNullWithDefault: boolean

  constructor({schemasEnable = true, replaceNullWithDefault = true}: JsonConverterOptions = {}) {
    this.#schemasEnable = schemasEnable
    this.#replaceNullWithDefault = replaceNullWithDefault
  }

  /** @throws DataException with Connect's message */
  toConnectData(_topic: string, bytes: Buffer | null): SchemaAndValue {
    if (bytes === null) return NULL
    const node = parse(bytes)
    if (!this.#schemasEnable) return {schema: null, value: this.#value(null, node)}
    if (!isObject(node) || node.size !== 2 || !node.has('schema') || !node.has('payload')) {
      throw new DataException(
        'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields.' +
          ' If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration.',
      )
    }
    const schema = readSchema(node.get('schema'), (defined, value) => this.#value(defined, value))
    return {schema, value: this.#value(schema, node.get('payload'))}
  }

  /** @throws DataException for data that do not fit their schema */
  fromConnectData(_topic: string, schema: ConnectSchema | null, value: unknown): Buffer | null {
    if (schema === null && (value === null || value === undefined)) return null
    const known = schema === null || isDataSchema(schema) ? schema : null
    const json = toJson(known, value, this.#replaceNullWithDefault)
    if (!this.#schemasEnable) return json === null ? null : Buffer.from(json)
    return Buffer.from(`{"schema":${known === null ? 'null' : schemaText(known)},"payload":${json ?? 'null'}}`)
  }

  toConnectHeader(topic: string, _key: string, bytes: Buffer | null): SchemaAndValue {
    return this.toConnectData(topic, bytes)
  }

  fromConnectHeader(topic: string, _key: string, schema: ConnectSchema | null, value: unknown): Buffer | null {
    return this.fromConnectData(topic, schema, value)
  }

  #value(schema: DataSchema | null, node: JsonNode): unknown {
    return toConnect(schema, node, this.#replaceNullWithDefault)
  }
}

function parse(bytes: Buffer): JsonNode {
  try {
    return readJson(bytes)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    const jackson = new JavaException({
      className: 'com.fasterxml.jackson.core.JsonParseException',
      message: error.message,
    })
    const cause = new JavaException({
      className: 'org.apache.kafka.common.errors.SerializationException',
      message: `${jackson.className}: ${error.message}`,
      cause: jackson,
    })
    const message = 'Converting byte[] to Kafka Connect data failed due to serialization error: '
    throw new DataException(message, {cause})
  }
}
