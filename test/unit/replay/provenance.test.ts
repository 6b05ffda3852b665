import {describe, expect, test} from 'vitest'
import {isProvenanceName, nextAttempt, parseProvenance, provenanceHeader} from '../../../src/lib/replay/provenance.ts'

const header = (text: string | null) => ({
  name: Buffer.from('kdlq.replay'),
  value: text === null ? null : Buffer.from(text),
})

describe('provenance', () => {
  test('is compact JSON with run, attempt and dead letter', () => {
    const made = provenanceHeader({run: 'r-1', attempt: 2, deadLetter: 'orders-dlq:0:42'})
    expect(made.name.toString()).toBe('kdlq.replay')
    expect(made.value?.toString()).toBe('{"run":"r-1","attempt":2,"deadLetter":"orders-dlq:0:42"}')
    expect(parseProvenance(made.value)).toEqual({run: 'r-1', attempt: 2, deadLetter: 'orders-dlq:0:42'})
  })

  test('the attempt counts on from the last readable header', () => {
    expect(nextAttempt([])).toBe(1)
    const first = provenanceHeader({run: 'r-1', attempt: 1, deadLetter: 'a:0:0'})
    const third = provenanceHeader({run: 'r-2', attempt: 3, deadLetter: 'a:0:1'})
    expect(nextAttempt([first, third])).toBe(4)
    expect(nextAttempt([third, header('not json')])).toBe(4)
  })

  test.each([
    null,
    '',
    '{',
    '[]',
    'null',
    '{"run":1,"attempt":1,"deadLetter":"a"}',
    '{"run":"r","attempt":0,"deadLetter":"a"}',
    '{"run":"r","attempt":1.5,"deadLetter":"a"}',
    '{"run":"r","attempt":"1","deadLetter":"a"}',
    `{"run":"${'r'.repeat(3000)}","attempt":1,"deadLetter":"a"}`,
  ])('hostile value %j is no provenance and counts as none', text => {
    expect(parseProvenance(header(text).value)).toBeNull()
    expect(nextAttempt([header(text)])).toBe(1)
  })

  test('the name is compared byte for byte', () => {
    expect(isProvenanceName(Buffer.from('kdlq.replay'))).toBe(true)
    expect(isProvenanceName(Buffer.from('KDLQ.replay'))).toBe(false)
  })
})
