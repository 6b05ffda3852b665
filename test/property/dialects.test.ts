import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../src/lib/dead-letter/dead-letter.ts'
import {foldStackTrace} from '../../src/lib/dead-letter/stack-trace.ts'
import {CONNECT_STAGES, connectHeaders} from '../../src/lib/dialects/connect.ts'
import type {ConnectContext} from '../../src/lib/dialects/connect.ts'
import {decodeFailure} from '../../src/lib/dialects/decode.ts'
import {lenientUtf8} from '../../src/lib/dialects/primitives.ts'
import {headerStripper} from '../../src/lib/dialects/restore.ts'
import type {KafkaRecord, RecordHeader} from '../../src/lib/kafka/record.ts'
import {recordWith} from '../support/records.ts'
import {assertLinear} from '../support/linear.ts'

const bytes = fc.uint8Array({maxLength: 64}).map(array => Buffer.from(array))
const connectName = fc
  .constantFrom(
    'topic',
    'partition',
    'offset',
    'task.id',
    'stage',
    'exception.message',
    'exception.stacktrace',
    'x',
    '',
  )
  .map(suffix => Buffer.from(`__connect.errors.${suffix}`))
const value = fc.oneof(
  fc.constant(null),
  bytes,
  fc.string({unit: 'binary'}).map(text => Buffer.from(text)),
  fc.bigInt().map(number => Buffer.from(number.toString())),
)
const hostileHeader: fc.Arbitrary<RecordHeader> = fc.record({name: fc.oneof(bytes, connectName), value})
const ownHeader: fc.Arbitrary<RecordHeader> = fc
  .record({name: bytes, value})
  .filter(({name}) => !name.toString('latin1').startsWith('__connect.errors.') && name.toString() !== 'kdlq.replay')

const topic = fc.stringMatching(/^[a-z]{1,12}$/)
const context: fc.Arbitrary<ConnectContext> = fc.record(
  {
    topic,
    partition: fc.nat(),
    offset: fc.bigInt({min: 0n, max: 2n ** 63n - 1n}),
    connector: fc.string(),
    task: fc.nat(),
    stage: fc.constantFrom(...CONNECT_STAGES),
    component: fc.string(),
    error: fc.record({
      class: fc.string(),
      message: fc.option(fc.string({unit: 'grapheme'})),
      stack: fc.string().filter(text => !text.includes('Caused by')),
    }),
  },
  {requiredKeys: ['topic', 'partition', 'offset', 'connector', 'task', 'stage', 'component']},
)

const record = (headers: readonly RecordHeader[]): KafkaRecord => ({...recordWith([]), headers})

describe('decoding', () => {
  test('never throws for any headers, and its result is JSON', () => {
    fc.assert(
      fc.property(fc.array(hostileHeader, {maxLength: 40}), value, (headers, payload) => {
        const deadLetter = createDeadLetter({...record(headers), value: payload})
        expect(JSON.parse(JSON.stringify(deadLetter.failure))).toEqual(deadLetter.failure)
        expect(deadLetter.fingerprint === null || /^f-[0-9a-f]{8}$/.test(deadLetter.fingerprint)).toBe(true)
      }),
    )
  })

  test('touches every header a bounded number of times, whatever their number', () => {
    const touches = (count: number, text: string): number => {
      let steps = 0
      const headers = Array.from({length: count}, (_, index): RecordHeader => {
        const name = Buffer.from(index % 2 === 0 ? `__connect.errors.${index % 14 === 0 ? 'topic' : index}` : text)
        return {
          get name() {
            steps++
            return name
          },
          get value() {
            steps++
            return Buffer.from('1')
          },
        }
      })
      decodeFailure(record(headers))
      return steps
    }
    fc.assert(
      fc.property(fc.integer({min: 10, max: 300}), fc.string(), (n, text) => {
        const once = touches(n, text)
        expect(touches(2 * n, text)).toBeLessThanOrEqual(2 * once + 10)
        expect(touches(4 * n, text)).toBeLessThanOrEqual(4 * once + 10)
      }),
      {numRuns: 20},
    )
  })

  test.each([
    ['marks without a class', 'Caused by: ( '],
    ['lines without a class', '\nCaused by: ('],
    ['quotes', `"'"''"`],
    ['brackets', '(['],
    ['JSON positions', '[Source: '],
    ['digits', '1'],
    ['frames', '\n\tat a.b.c('],
  ])('does not go quadratic on very long texts of %s', async (_what, pattern) => {
    await assertLinear(400_000, size => {
      const text = pattern.repeat(Math.ceil(size / pattern.length))
      const headers = connectHeaders({
        topic: 'orders',
        partition: 0,
        offset: 0n,
        connector: 'c',
        task: 0,
        stage: 'TASK_PUT',
        component: 'x.Y',
        error: {class: text, message: text, stack: text},
      })
      expect(createDeadLetter(record(headers)).fingerprint).toMatch(/^f-/)
    })
  })

  test('application headers around the set change nothing', () => {
    fc.assert(
      fc.property(context, fc.array(ownHeader), fc.array(ownHeader), (failure, before, after) => {
        const set = connectHeaders(failure)
        expect(decodeFailure(record([...before, ...set, ...after]))).toEqual(decodeFailure(record(set)))
      }),
    )
  })

  test('text is decoded as the Encoding Standard says', () => {
    const reference = new TextDecoder('utf-8', {ignoreBOM: true})
    fc.assert(
      fc.property(fc.uint8Array({maxLength: 200}), array => {
        expect(lenientUtf8(Buffer.from(array))).toBe(reference.decode(array))
      }),
    )
  })
})

describe('parking and replaying with Connect', () => {
  test('writing and reading is the identity on the failure', () => {
    fc.assert(
      fc.property(context, failure => {
        const decoded = decodeFailure(record(connectHeaders(failure)))
        expect(decoded.origin).toEqual({
          topic: failure.topic,
          partition: failure.partition,
          offset: failure.offset.toString(),
        })
        expect(decoded.connector).toBe(failure.connector)
        expect(decoded.task).toBe(failure.task)
        expect(decoded.stage).toBe(failure.stage)
        expect(decoded.component).toBe(failure.component)
        expect(decoded.exception?.class).toBe(failure.error?.class)
        expect(decoded.exception?.message).toBe(failure.error?.message ?? undefined)
        expect(decoded.exception?.stack).toBe(failure.error?.stack)
      }),
    )
  })

  test('parking twice keeps the first origin and shows the newest failure', () => {
    fc.assert(
      fc.property(context, context, fc.array(ownHeader), (first, second, own) => {
        const decoded = decodeFailure(record([...own, ...connectHeaders(first), ...connectHeaders(second)]))
        expect(decoded.hops).toBe(2)
        expect(decoded.origin?.offset).toBe(first.offset.toString())
        expect(decoded.last?.offset).toBe(second.offset.toString())
        expect(decoded.exception?.class).toBe(second.error?.class)
      }),
    )
  })

  test('stripping gives back exactly the headers from before, however often the record was parked', () => {
    fc.assert(
      fc.property(fc.array(ownHeader), fc.array(context, {minLength: 1, maxLength: 3}), (own, failures) => {
        const headers = [...own, ...failures.flatMap(connectHeaders)]
        const strips = headerStripper(record(headers), decodeFailure(record(headers)))
        expect(headers.filter(({name}, index) => !strips(name, index))).toEqual(own)
      }),
    )
  })
})

test('folding a stack trace never throws and loses no frame', () => {
  const line = fc.constantFrom(
    'a.B: x',
    '\tat com.acme.A.b(A.java:1)',
    '\tat java.lang.C.d(C.java)',
    'Caused by: c.D: y',
    '\tSuppressed: e.F',
    '\t\tat g.H.i(Unknown Source)',
    '\t... 3 more',
    'text',
    '',
  )
  fc.assert(
    fc.property(fc.array(line), fc.string({unit: 'binary'}), (lines, tail) => {
      const stack = [...lines, tail].join('\n')
      const folded = foldStackTrace(stack)
      const shown = folded.sections.flatMap(section => section.lines).filter(({kind}) => kind === 'frame').length
      expect(shown + folded.hiddenFrames).toBe(folded.frames)
      expect(folded.sections.filter(({relation}) => relation === 'cause').length).toBe(
        stack
          .replaceAll('\r\n', '\n')
          .split('\n')
          .filter(text => text.startsWith('Caused by: ')).length,
      )
    }),
  )
})
