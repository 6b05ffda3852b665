import {isKdlqError, UsageError} from '../errors.ts'
import {compileSchema} from './compile.ts'
import type {CompiledSchema} from './compiled.ts'
import type {AskedFormat, AskedSchema} from './format.ts'
import type {SchemaType} from './types.ts'

const TYPES: Partial<Readonly<Record<AskedFormat, SchemaType>>> = {
  avro: 'AVRO',
  protobuf: 'PROTOBUF',
  jsonschema: 'JSON',
}

/** @throws UsageError naming the file: it cannot be read, or is no schema of the format */
export async function loadSchemaFile(
  readFile: (path: string) => Promise<string>,
  format: AskedFormat,
  {path, message}: Extract<AskedSchema, {kind: 'file'}>,
): Promise<CompiledSchema> {
  let text: string
  try {
    text = await readFile(path)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    throw new UsageError(`the schema ${path} cannot be read${code}`, {cause, context: {path}})
  }
  try {
    return await compileSchema({type: TYPES[format] ?? 'AVRO', text, references: []}, message)
  } catch (cause) {
    if (!isKdlqError(cause)) throw cause
    throw new UsageError(`${path}: ${cause.message}`, {cause, context: {path}})
  }
}
