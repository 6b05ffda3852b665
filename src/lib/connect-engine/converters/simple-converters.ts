import type {ConnectSchema, Converter, HeaderConverter, SchemaAndValue} from '../data.ts'
import {classNameOf, DataException} from '../errors.ts'
import {javaText} from '../source-record-text.ts'
import {dataSchema} from './schema.ts'

const OPTIONAL_STRING = dataSchema('STRING', {optional: true})
const OPTIONAL_BYTES = dataSchema('BYTES', {optional: true})

/** Text in UTF-8; bytes that are none become replacement characters, nothing fails. @see Connect's StringConverter */
export class StringConverter implements Converter, HeaderConverter {
  readonly className = 'org.apache.kafka.connect.storage.StringConverter'

  toConnectData(_topic: string, bytes: Buffer | null): SchemaAndValue {
    return {schema: OPTIONAL_STRING, value: bytes === null ? null : bytes.toString('utf8')}
  }

  fromConnectData(_topic: string, _schema: ConnectSchema | null, value: unknown): Buffer | null {
    return value === null || value === undefined ? null : Buffer.from(javaText(value))
  }

  toConnectHeader(topic: string, _key: string, bytes: Buffer | null): SchemaAndValue {
    return this.toConnectData(topic, bytes)
  }

  fromConnectHeader(topic: string, _key: string, schema: ConnectSchema | null, value: unknown): Buffer | null {
    return this.fromConnectData(topic, schema, value)
  }
}

/** Bytes as they are. @see Connect's ByteArrayConverter */
export class ByteArrayConverter implements Converter, HeaderConverter {
  readonly className = 'org.apache.kafka.connect.converters.ByteArrayConverter'

  toConnectData(_topic: string, bytes: Buffer | null): SchemaAndValue {
    return {schema: OPTIONAL_BYTES, value: bytes}
  }

  /** @throws DataException for anything but bytes */
  fromConnectData(_topic: string, schema: ConnectSchema | null, value: unknown): Buffer | null {
    if (schema !== null && schema.type !== 'BYTES') {
      throw new DataException(`Invalid schema type for ByteArrayConverter: ${schema.type}`)
    }
    if (value === null || value === undefined) return null
    if (value instanceof Uint8Array) return Buffer.from(value)
    throw new DataException(`ByteArrayConverter is not compatible with objects of type ${classNameOf(value)}`)
  }

  toConnectHeader(topic: string, _key: string, bytes: Buffer | null): SchemaAndValue {
    return this.toConnectData(topic, bytes)
  }

  fromConnectHeader(topic: string, _key: string, schema: ConnectSchema | null, value: unknown): Buffer | null {
    return this.fromConnectData(topic, schema, value)
  }
}

const INTEGER_TYPES = [
  ['INT8', 8],
  ['INT16', 16],
  ['INT32', 32],
  ['INT64', 64],
] as const

/**
 * Text whose meaning is guessed: booleans, whole numbers in the smallest type that holds them, other numbers. Lists, maps and
 * times stay text here. Connect's default for headers; it never fails.
 * @see Connect's SimpleHeaderConverter
 */
export class SimpleHeaderConverter implements HeaderConverter {
  readonly className = 'org.apache.kafka.connect.storage.SimpleHeaderConverter'

  toConnectHeader(_topic: string, _key: string, bytes: Buffer | null): SchemaAndValue {
    if (bytes === null) return {schema: null, value: null}
    const text = bytes.toString('utf8')
    if (text === 'null') return {schema: null, value: null}
    if (text === 'true' || text === 'false') return {schema: dataSchema('BOOLEAN'), value: text === 'true'}
    if (/^[+-]?\d{1,19}$/.test(text)) {
      const value = BigInt(text.replace('+', ''))
      const type = INTEGER_TYPES.find(([, bits]) => BigInt.asIntN(bits, value) === value)?.[0]
      if (type !== undefined) return {schema: dataSchema(type), value: type === 'INT64' ? value : Number(value)}
    }
    if (/^[+-]?\d+\.\d+(?:[eE][+-]?\d+)?$/.test(text)) return {schema: dataSchema('FLOAT64'), value: Number(text)}
    return {schema: dataSchema('STRING'), value: text}
  }

  fromConnectHeader(_topic: string, _key: string, _schema: ConnectSchema | null, value: unknown): Buffer | null {
    return value === null || value === undefined ? null : Buffer.from(javaText(value))
  }
}
