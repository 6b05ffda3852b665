import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {readJavaException} from '../../../src/lib/dialects/java-exception-header.ts'
import {javaException} from '../../support/java-exception.ts'
import {assertLinear} from '../../support/linear.ts'

const payload = Buffer.from('{bad')
const BACK_REFERENCE = Buffer.from('7571007e001a', 'hex')

describe('the payload of a serialised exception', () => {
  test.each([
    ['first byte array of the stream', javaException(payload), payload],
    ['back-reference to a class written before', javaException(payload, {array: BACK_REFERENCE}), payload],
    ['failure of the key', javaException(payload, {isKey: true}), payload],
    ['no bytes at all', javaException(Buffer.alloc(0)), Buffer.alloc(0)],
    ['a payload that ends like a null', javaException(Buffer.from('p')), Buffer.from('p')],
  ])('is cut out: %s', (_what, value, expected) => {
    expect(readJavaException(value)?.data).toEqual(expected)
  })

  test('is null where the exception held none', () => {
    expect(readJavaException(javaException(null))).toEqual({data: null})
  })

  test('is taken whole when it imitates the end of a stream itself', () => {
    const hostile = Buffer.concat([
      Buffer.from('x'),
      Buffer.of(0),
      BACK_REFERENCE,
      Buffer.from([0, 0, 0, 1]),
      Buffer.of(7),
    ])
    expect(readJavaException(javaException(hostile))?.data).toEqual(hostile)
  })
})

describe('anything else is not interpreted', () => {
  const whole = javaException(payload)

  test.each([
    ['empty', Buffer.alloc(0)],
    ['no stream header', whole.subarray(1)],
    ['another class', Buffer.from('aced00057372000e6576696c2e476164676574', 'hex')],
    [
      'another class in front of a byte array',
      Buffer.from(whole.toString('latin1').replace('Deserialization', 'Deserialisation'), 'latin1'),
    ],
    ['cut off', whole.subarray(0, -1)],
    ['bytes behind the payload', Buffer.concat([whole, Buffer.of(1)])],
    ['cut inside the length', whole.subarray(0, -6)],
    [
      'negative length',
      javaException(Buffer.alloc(0), {array: Buffer.concat([BACK_REFERENCE, Buffer.from('ffffffff', 'hex')])}),
    ],
    ['no boolean in front of the array', Buffer.concat([whole.subarray(0, -28), Buffer.of(2), whole.subarray(-27)])],
  ])('%s', (_what, value) => {
    expect(readJavaException(value)).toBeUndefined()
  })
})

test('never throws and never reads outside, whatever the bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({maxLength: 200}), fc.nat(), (noise, cut) => {
      const value = javaException(Buffer.from(noise), {between: Buffer.from(noise), array: BACK_REFERENCE})
      expect(readJavaException(value)?.data?.length).toBeLessThanOrEqual(value.length)
      const part = value.subarray(0, cut % (value.length + 1))
      const found = readJavaException(part)
      expect(found === undefined || found.data === null || found.data.length < part.length).toBe(true)
    }),
  )
})

test('a megabyte of array marks takes one pass', async () => {
  await assertLinear(250_000, marks => {
    const value = javaException(payload, {between: Buffer.from('7571007e'.repeat(marks), 'hex')})
    expect(readJavaException(value)?.data).toEqual(payload)
  })
})
