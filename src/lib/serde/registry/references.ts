import type {SchemaSource} from '../compiled.ts'
import {DecodeFault} from '../fault.ts'
import type {RegistryClient, RegistryReference, RegistrySchema} from './client.ts'

const MAX_REFERENCES = 200
const MAX_REFERENCE_DEPTH = 20

/**
 * A schema with all that it refers to, each once, those that others need first.
 * @throws RegistryError; DecodeFault of step `schema` for references in a circle, too deep, or too many
 */
export async function withReferences(
  client: RegistryClient,
  schema: RegistrySchema,
  options: {readonly signal?: AbortSignal | undefined} = {},
): Promise<SchemaSource> {
  const done = new Map<string, {name: string; text: string}>()
  const open: string[] = []
  const follow = async (references: readonly RegistryReference[]): Promise<void> => {
    for (const {name, subject, version} of references) {
      const key = `${subject} ${version}`
      if (open.includes(key))
        throw new DecodeFault('schema', `references go in a circle: ${[...open, key].join(' → ').slice(0, 200)}`)
      if (done.has(key)) continue
      if (open.length >= MAX_REFERENCE_DEPTH)
        throw new DecodeFault('schema', `references are nested deeper than ${MAX_REFERENCE_DEPTH}`)
      if (done.size >= MAX_REFERENCES)
        throw new DecodeFault('schema', `more than ${MAX_REFERENCES} schemas are referred to`)
      open.push(key)
      const found = await client.schema({kind: 'subject', subject, version: String(version)}, options)
      await follow(found.references)
      open.pop()
      done.set(key, {name, text: found.text})
    }
  }
  await follow(schema.references)
  return {type: schema.type, text: schema.text, references: [...done.values()]}
}
