import type {CompiledSchema, SchemaSource} from './compiled.ts'
import {DecodeFault, toProblem} from './fault.ts'

/**
 * Prepare a schema for reading; loads the library of its type.
 * @param message of a Protobuf schema; null = the payload says which
 * @throws DecodeFault of step `schema` for a text that is no schema, or uses names that are not defined
 */
export async function compileSchema(source: SchemaSource, message: string | null = null): Promise<CompiledSchema> {
  try {
    return await COMPILERS[source.type](source, message)
  } catch (cause) {
    const {message: text} = toProblem(cause, 'schema')
    throw new DecodeFault('schema', `the schema cannot be used: ${text}`, {cause})
  }
}

const COMPILERS: Readonly<
  Record<SchemaSource['type'], (source: SchemaSource, message: string | null) => Promise<CompiledSchema>>
> = {
  AVRO: async source => (await import('./avro/compile.ts')).compileAvro(source),
  PROTOBUF: async (source, message) => (await import('./protobuf/compile.ts')).compileProtobuf(source, message),
  JSON: async source => (await import('./json-schema.ts')).compileJsonSchema(source),
}
