/** Name of the only class whose serialised form is known here. */
const CLASS_NAME = Buffer.from('org.springframework.kafka.support.serializer.DeserializationException', 'latin1')
const STREAM_START = Buffer.from('aced0005', 'hex')
const ARRAY = 0x75
const NULL = 0x70
/** Descriptor of `byte[]`, written with the first such array of a stream. */
const BYTE_ARRAY_CLASS = Buffer.from('7200025b42acf317f8060854e00200007870', 'hex')
/** A back-reference to a descriptor written before; two bytes of the handle follow. */
const BACK_REFERENCE = Buffer.from('71007e', 'hex')

/**
 * The payload inside a Java-serialised `DeserializationException` of Spring for Apache Kafka, cut out without
 * deserialising anything (CVE-2023-34040): the class writes its two own fields, a boolean and the bytes, last, so the
 * array that ends exactly with the value is the payload. Linear in the length, never reads outside, never throws.
 * @returns undefined when it is not that one well-known shape; data null when the exception had no bytes
 */
export function readJavaException(value: Buffer): {readonly data: Buffer | null} | undefined {
  if (!value.subarray(0, STREAM_START.length).equals(STREAM_START) || !value.includes(CLASS_NAME)) return undefined
  // The first match wins: what stands behind it may be the payload's own bytes.
  for (let at = value.indexOf(ARRAY); at !== -1; at = value.indexOf(ARRAY, at + 1)) {
    const length = lengthPosition(value, at + 1)
    if (length === -1 || length + 4 > value.length || !isBoolean(value[at - 1])) continue
    if (value.readInt32BE(length) === value.length - length - 4) return {data: value.subarray(length + 4)}
  }
  return value.at(-1) === NULL && isBoolean(value.at(-2)) ? {data: null} : undefined
}

/** Where the length of a byte array stands whose class description begins here; -1 when it is another kind of array. */
function lengthPosition(value: Buffer, start: number): number {
  if (startsWithAt(value, BYTE_ARRAY_CLASS, start)) return start + BYTE_ARRAY_CLASS.length
  return startsWithAt(value, BACK_REFERENCE, start) ? start + BACK_REFERENCE.length + 2 : -1
}

function startsWithAt(value: Buffer, prefix: Buffer, start: number): boolean {
  const end = start + prefix.length
  return end <= value.length && prefix.compare(value, start, end) === 0
}

function isBoolean(byte: number | undefined): boolean {
  return byte === 0 || byte === 1
}
