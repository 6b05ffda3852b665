import fc from 'fast-check'
import {expect, test} from 'vitest'
import {createDeadLetter} from '../../src/lib/dead-letter/dead-letter.ts'
import {parseArchiveLine} from '../../src/lib/kafka/archive/index.ts'
import type {KafkaRecord} from '../../src/lib/kafka/record.ts'
import {createDeadLetterView} from '../../src/lib/render/dead-letter-view.ts'
import {renderItems} from '../../src/lib/render/formats.ts'
import {createPaint} from '../../src/lib/render/paint.ts'
import {plainDecoder} from '../support/decoded.ts'

const bytes = fc.oneof(
  fc.uint8Array({maxLength: 40}).map(array => Buffer.from(array)),
  fc.string({unit: 'binary', maxLength: 20}).map(text => Buffer.from(text)),
)
const record: fc.Arbitrary<KafkaRecord> = fc.record({
  topic: fc.constantFrom('orders-dlq', 'a.b_c-1'),
  partition: fc.integer({min: 0, max: 2_147_483_647}),
  offset: fc.bigInt({min: 0n, max: 9_223_372_036_854_775_807n}),
  timestamp: fc.option(fc.bigInt({min: 0n, max: 9_223_372_036_854_775_807n})),
  timestampType: fc.constantFrom('CreateTime' as const, 'LogAppendTime' as const),
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers: fc.array(fc.record({name: bytes, value: fc.option(bytes)}), {maxLength: 5}),
})

const view = createDeadLetterView({decode: await plainDecoder()})

async function linesOf(records: readonly KafkaRecord[], forTerminal: boolean): Promise<string[]> {
  const context = {width: forTerminal ? 80 : null, unicode: true, paint: createPaint(0), nowMs: 0, forTerminal}
  let text = ''
  for await (const chunk of renderItems(
    records.map(item => createDeadLetter(item)),
    view,
    {format: 'jsonl', columns: [], context},
  ))
    text += chunk
  return text.split('\n').slice(0, -1)
}

test('jsonl output is an archive of the same records, byte for byte, also from a terminal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(record, {minLength: 1, maxLength: 4}), fc.boolean(), async (records, forTerminal) => {
      const lines = await linesOf(records, forTerminal)
      expect(lines.map((line, index) => parseArchiveLine(line, index + 1))).toEqual(records)
    }),
  )
})
