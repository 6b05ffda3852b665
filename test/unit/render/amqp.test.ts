import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {amqpText} from '../../../src/lib/render/amqp.ts'
import {createPaint} from '../../../src/lib/render/paint.ts'
import {renderDetail} from '../../../src/lib/render/record-detail.ts'
import {plainDecoder} from '../../support/decoded.ts'
import {recordWith} from '../../support/records.ts'

const hex = (text: string): Buffer => Buffer.from(text, 'hex')

describe('[BR-77] header values that Event Hubs encoded', () => {
  test.each([
    ['short text', 'a106 6f7264657273', 'orders'],
    ['long form', 'b100000006 6f7264657273', 'orders'],
    ['empty text', 'a100', ''],
    ['text behind the length', 'a105 6f7264657273', null],
    ['less text than the length', 'a107 6f7264657273', null],
    ['no length', 'a1', null],
    ['a length that reaches far outside', 'b1ffffffff 61', null],
    ['half a length', 'b10000', null],
    ['no UTF-8', 'a101ff', null],
    ['plain text', '6f7264657273', null],
    ['nothing', '', null],
  ])('%s', (_what, bytes, text) => {
    expect(amqpText(hex(bytes.replaceAll(' ', '')))).toBe(text)
  })

  test('never throw, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.constantFrom(0xa1, 0xb1), fc.uint8Array({maxLength: 12}), (mark, rest) => {
        const text = amqpText(Buffer.of(mark, ...rest))
        expect(text === null || Buffer.byteLength(text) <= rest.length).toBe(true)
      }),
    )
  })

  test('are shown as the text, and their bytes stay on the record', async () => {
    const value = hex('a1066f7264657273')
    const letter = createDeadLetter(recordWith([['topic', value]]))
    const context = {width: null, unicode: true, paint: createPaint(0), nowMs: 0, forTerminal: false}
    const shown = [
      ...renderDetail(
        letter,
        {fullStack: false, hex: false, origin: null, decoded: (await plainDecoder())(letter)},
        context,
      ),
    ].join('')
    expect(shown).toContain('topic = orders AMQP text\n')
    expect(letter.record.headers[0]?.value).toBe(value)
  })
})
