import type {Enum, Field, NamespaceBase, ReflectionObject, Type} from 'protobufjs'
import type {CompiledSchema, SchemaSource} from '../compiled.ts'
import {DecodeFault} from '../fault.ts'
import {readMessageIndexes} from './indexes.ts'
import {decodeMessage, type MessageNode, scalarOf, type ScalarName} from './read.ts'

/**
 * Reads a .proto text with protobufjs, which knows its grammar and names; the bytes are walked by `read.ts`. Loads
 * protobufjs.
 * @param message read this one (full or last name) and expect no message indexes; null = the indexes choose
 * @throws Error for a text that is no schema, and for a type that neither it nor its references define
 */
export async function compileProtobuf(source: SchemaSource, message: string | null = null): Promise<CompiledSchema> {
  const {default: protobuf} = await import('protobufjs')
  const root = new protobuf.Root()
  const imported = new Set<string>()
  const add = (text: string): void => {
    const {imports = [], weakImports = []} = protobuf.parse(text, root, {keepCase: true})
    for (const path of [...imports, ...weakImports]) {
      const known = imported.has(path) ? null : protobuf.common.get(path)
      imported.add(path)
      if (known?.nested !== undefined && !source.references.some(({name}) => name === path)) root.addJSON(known.nested)
    }
  }
  for (const reference of source.references) add(reference.text)
  add(source.text)
  root.resolveAll()
  // The indexes count the messages of this file only, in the order of its text; the root holds those of all files.
  const own = new protobuf.Root()
  const {package: name} = protobuf.parse(source.text, own, {keepCase: true})
  const file = name === undefined || name === '' ? own : own.lookup(name)
  const kinds: Kinds = {
    isType: (object): object is Type => object instanceof protobuf.Type,
    isEnum: (object): object is Enum => object instanceof protobuf.Enum,
    isNamespace: (object): object is NamespaceBase => object instanceof protobuf.Namespace,
    mapKey: field => (field instanceof protobuf.MapField ? scalarOf(field.keyType) : null),
  }
  const nodes = createNodes(kinds)
  const chosen = message === null ? null : root.lookupType(message)
  return {
    type: 'PROTOBUF',
    decode({bytes, start, indexes}) {
      const read = chosen === null ? readMessageIndexes(indexes ?? bytes, indexes === null ? start : 0) : null
      const type = chosen ?? root.lookupType(nameAt(read?.indexes ?? [], file, kinds))
      const from = read === null || indexes !== null ? start : read.end
      return {value: decodeMessage(nodes(type), bytes, from), name: type.fullName.slice(1)}
    },
  }
}

interface Kinds {
  readonly isType: (object: ReflectionObject | null) => object is Type
  readonly isEnum: (object: ReflectionObject | null) => object is Enum
  readonly isNamespace: (object: ReflectionObject | null) => object is NamespaceBase
  /** Type of the keys of a map; null for other fields. */
  readonly mapKey: (field: Field) => ScalarName | null
}

/** Full name of the message that indexes choose: the first among the file's messages, each next one nested in it. */
function nameAt(indexes: readonly number[], file: ReflectionObject | null, {isType, isNamespace}: Kinds): string {
  let at: ReflectionObject | null = file
  for (const index of indexes) {
    const types: readonly Type[] = (isNamespace(at) ? at.nestedArray : []).filter(isType)
    const next = types[index]
    if (next === undefined) {
      throw new DecodeFault('framing', `message indexes [${indexes.join(', ')}] name no message of the schema`)
    }
    at = next
  }
  if (!isType(at)) throw new DecodeFault('schema', 'the schema has no message')
  return at.fullName
}

/** Message types as they are walked; each is made once, so a type may be part of itself. */
function createNodes({isType, isEnum, mapKey}: Kinds): (type: Type) => MessageNode {
  const known = new Map<Type, MessageNode>()
  const toNode = (type: Type): MessageNode => {
    const seen = known.get(type)
    if (seen !== undefined) return seen
    const node: MessageNode = {fields: new Map()}
    known.set(type, node)
    for (const field of type.fieldsArray) {
      const {resolvedType} = field
      node.fields.set(field.id, {
        name: field.name,
        keyType: mapKey(field),
        repeated: field.repeated,
        hasDefault: !field.repeated && mapKey(field) === null && !field.hasPresence,
        type: isType(resolvedType)
          ? {kind: 'message', node: () => toNode(resolvedType)}
          : isEnum(resolvedType)
            ? {kind: 'enum', names: new Map(Object.entries(resolvedType.values).map(([name, value]) => [value, name]))}
            : {kind: 'scalar', name: scalarOf(field.type)},
      })
    }
    return node
  }
  return toNode
}
