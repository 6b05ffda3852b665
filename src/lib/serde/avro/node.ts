/** An Avro schema as it is walked; `record` nodes may be part of themselves. */
export type AvroNode =
  | {readonly kind: 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'string'}
  | {readonly kind: 'bytes'; readonly scale: number | null}
  | {readonly kind: 'fixed'; readonly size: number; readonly scale: number | null}
  | {readonly kind: 'enum'; readonly symbols: readonly string[]}
  | {readonly kind: 'array' | 'map'; readonly items: AvroNode}
  | {readonly kind: 'union'; readonly branches: readonly AvroNode[]}
  | {readonly kind: 'record'; readonly fields: readonly {readonly name: string; readonly type: AvroNode}[]}
