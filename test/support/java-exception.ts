const CLASS_NAME = 'org.springframework.kafka.support.serializer.DeserializationException'
const FIRST_ARRAY = Buffer.from('757200025b42acf317f8060854e00200007870', 'hex')
const NULL = Buffer.of(0x70)

/** What Java's serialization writes for Spring's exception, with the parts in between left out. */
export function javaException(
  data: Buffer | null,
  {isKey = false, array = FIRST_ARRAY, between = Buffer.alloc(0)} = {},
): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(data?.length ?? 0)
  return Buffer.concat([
    Buffer.from('aced00057372', 'hex'),
    Buffer.of(0, CLASS_NAME.length),
    Buffer.from(CLASS_NAME, 'latin1'),
    between,
    Buffer.of(isKey ? 1 : 0),
    ...(data === null ? [NULL] : [array, length, data]),
  ])
}
