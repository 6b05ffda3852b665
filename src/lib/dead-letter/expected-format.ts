import type {Failure} from '../dialects/model.ts'
import type {AskedFormat, Part} from '../serde/index.ts'

/** Last parts of the class names of converters, serializers and deserializers, and what they read. */
const READERS: readonly (readonly [pattern: RegExp, format: AskedFormat])[] = [
  [/JsonSchema(?:Converter|Deserializer|Serializer)$/i, 'jsonschema'],
  [/Avro(?:Converter|Deserializer|Serializer)$/i, 'avro'],
  [/Protobuf(?:Converter|Deserializer|Serializer)$/i, 'protobuf'],
  [/Json(?:Converter|Deserializer|Serializer)$/i, 'json'],
]
const PARTS: Readonly<Record<string, Part>> = {
  KEY_CONVERTER: 'key',
  VALUE_CONVERTER: 'value',
  'deserialize-key': 'key',
  'deserialize-value': 'value',
}

/** The format that the reader which failed expected of the key or the value; empty when it was no reader we know. */
export function expectedFormats({stage, component}: Failure): Partial<Record<Part, AskedFormat>> {
  const part = stage === undefined || !Object.hasOwn(PARTS, stage) ? undefined : PARTS[stage]
  const format = READERS.find(([pattern]) => component !== undefined && pattern.test(component))?.[1]
  return part === undefined || format === undefined ? {} : {[part]: format}
}
