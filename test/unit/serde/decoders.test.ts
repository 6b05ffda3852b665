import {describe, expect, test} from 'vitest'
import {parseArchiveLine} from '../../../src/lib/kafka/archive/index.ts'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {deadLetterToJson} from '../../../src/lib/render/dead-letter-json.ts'
import {jsonText} from '../../../src/lib/render/json.ts'
import {springTypes} from '../../../src/lib/serde/index.ts'
import {plainDecoder} from '../../support/decoded.ts'
import {recordWith} from '../../support/records.ts'
import {startStubRegistry} from '../../support/stub-registry.ts'
import {framed, hex, payloads, setUp} from './support.ts'

const POINT = '{"type":"record","name":"Point","fields":[{"name":"x","type":"long"}]}'
const GUID = '89791762-2336-186f-9674-299b90a8e8e2'
const guidBytes = hex(GUID.replaceAll('-', ''))

describe('without a registry', () => {
  test.each([
    ['null', null, {format: 'null', value: null}],
    ['text', 'k-17', {format: 'text', value: 'k-17'}],
    ['empty', '', {format: 'text', value: ''}],
    ['JSON object', '{"a":1}', {format: 'json', value: {a: 1}}],
    ['JSON number', '17', {format: 'json', value: 17}],
    ['text that begins like a number', '17 apples', {format: 'text', value: '17 apples'}],
    ['the word null', 'null', {format: 'json', value: null}],
    ['text that begins like null', 'nothing', {format: 'text', value: 'nothing'}],
  ] as const)('%s is what it looks like', async (_what, bytes, decoded) => {
    const {decoders} = await setUp(null)
    const record = payloads(bytes)
    expect(decoders.prepare(record)).toBeUndefined()
    expect(decoders.decode(record).value).toEqual(decoded)
  })

  test('what was meant to be JSON is text, with the byte and the field where it breaks', async () => {
    const {decoders} = await setUp(null)
    expect(decoders.decode(payloads('{"id": 1, "qty": x}')).value).toEqual({
      format: 'text',
      value: '{"id": 1, "qty": x}',
      error: {step: 'decode', message: "looks like JSON, but a value is expected, here is 'x'", at: 17, field: 'qty'},
    })
    expect(decoders.decode(payloads(Buffer.from([0x7b, 0x22, 0xff]))).value).toMatchObject({
      format: 'bytes',
      value: null,
      error: {at: 2},
    })
  })

  test('a frame is named, not guessed at; JSON in it can be read all the same', async () => {
    const {decoders} = await setUp(null)
    expect(decoders.decode(payloads(framed(7, hex('02')))).value).toEqual({
      format: 'bytes',
      value: null,
      schema: {id: 7},
      error: {step: 'registry', reason: 'none', message: 'schema 7 was not asked for: no schema registry is named'},
    })
    expect(decoders.decode(payloads(framed(7, '{"a":1}'))).value).toMatchObject({
      format: 'json',
      value: {a: 1},
      schema: {id: 7},
    })
  })

  test.each([
    ['a serialised Java object', 'aced0005 7372', 'java', 'a serialised Java object, which is not read'],
    ['noise', 'ff00', 'bytes', 'neither text nor in the frame of a known format'],
    ['a long that looks like no id', '000000000000002a', 'text', undefined],
  ])('%s', async (_what, bytes, format, message) => {
    const {decoders} = await setUp(null)
    const {value} = decoders.decode(payloads(hex(bytes)))
    expect([value.format, value.error?.message]).toEqual([format, message])
  })

  test('the frame of AWS Glue is recognised and named', async () => {
    const {decoders} = await setUp(null)
    const version = '12345678-9abc-4def-8123-456789abcdef'
    const bytes = Buffer.concat([Buffer.from([3, 0]), hex(version.replaceAll('-', '')), Buffer.from('x')])
    expect(decoders.decode(payloads(bytes)).value).toMatchObject({
      format: 'glue',
      value: null,
      schema: {guid: version},
      error: {step: 'registry', message: expect.stringContaining('AWS Glue') as string},
    })
  })
})

describe('formats by choice', () => {
  test.each([
    ['int32', 'fffffffe', -2],
    ['int64', '0020000000000001', 9_007_199_254_740_993n],
    ['float32', '3fc00000', 1.5],
    ['float64', 'bff8000000000000', -1.5],
    ['uuid', '897917622336186f9674299b90a8e8e2', GUID],
    ['hex', '00ff', '0x00ff'],
    ['text', '68c3bc', 'hü'],
    ['json', '5b315d', [1]],
    ['msgpack', '82 a161 cf0020000000000001 a162 c402ff00', {a: 9_007_199_254_740_993n, b: Buffer.from([255, 0])}],
    ['cbor', 'a2 6161 1b0020000000000001 6162 82f5f6', {a: 9_007_199_254_740_993n, b: [true, null]}],
  ])('%s of %s', async (format, bytes, value) => {
    const {decoders} = await setUp(null, {formats: [format, `key=${format}`]})
    const part = {format, value}
    expect(decoders.decode(payloads(hex(bytes), hex(bytes)))).toEqual({key: part, value: part})
  })

  test.each([
    ['int64', '00000000', 'int64 takes 8 bytes, here are 4', 4],
    ['int32', '00', 'int32 takes 4 bytes, here is 1', 1],
    ['int32', '0000000001', 'int32 takes 4 bytes, here are 5', 4],
    ['text', '61ff', 'byte 0xff is not valid UTF-8', 1],
  ])('%s of %s fails at a byte', async (format, bytes, message, at) => {
    const {decoders} = await setUp(null, {formats: [format]})
    expect(decoders.decode(payloads(hex(bytes))).value.error).toEqual({step: 'decode', message, at})
  })

  test.each(['msgpack', 'cbor'])('%s that is broken, a bomb or a trap is an error', async format => {
    const {decoders} = await setUp(null, {formats: [format]})
    const bombs = [
      '',
      'df7fffffff',
      'dd7fffffff',
      'c67fffffff',
      'bb00000000ffffffff',
      '9b7fffffffffffffff',
      '5b7fffffffffffffff',
      '81'.repeat(100_000),
      '91'.repeat(100_000),
    ]
    const steps = bombs.map(bytes => decoders.decode(payloads(hex(bytes))).value.error?.step)
    expect(steps).toEqual(bombs.map(() => 'decode'))
    const own = decoders.decode(payloads(hex(format === 'cbor' ? 'a1 69 5f5f70726f746f5f5f 01' : '81 a3 666f6f 01')))
      .value.value
    expect(Object.getPrototypeOf(own)).toBeNull()
  })

  test('[BR-59] Avro by choice on bytes without a frame: said so, shown as text, the registry is not asked', async () => {
    await using stub = await startStubRegistry()
    const {decoders} = await setUp(stub, {formats: ['avro']})
    expect((await decoders.decodeFetched(payloads('abcd'))).value).toEqual({
      format: 'text',
      value: 'abcd',
      error: {step: 'framing', message: 'not in wire format: byte 0x61 stands where 0 or 1 is expected', at: 0},
    })
    expect((await decoders.decodeFetched(payloads(hex('0000')))).value.error?.message).toBe(
      'not in wire format: 2 bytes hold no schema id',
    )
    expect(stub.requests).toEqual([])
  })

  test('[BR-61] Avro without a frame by a subject or a file; without either the bytes stay bytes', async () => {
    await using stub = await startStubRegistry()
    stub.versions.set('points-value/latest', {schema: POINT, id: 3})
    const bySubject = await setUp(stub, {formats: ['avro:points-value']})
    expect((await bySubject.decoders.decodeFetched(payloads(hex('8001')))).value).toEqual({
      format: 'avro',
      value: {x: 64n},
      schema: {id: 3, type: 'AVRO', name: 'Point'},
    })
    const byFile = await setUp(null, {formats: ['avro:p.avsc'], files: {'p.avsc': POINT}})
    expect((await byFile.decoders.decodeFetched(payloads(hex('8001')))).value).toMatchObject({value: {x: 64n}})
    const without = await setUp(null)
    expect(without.decoders.decode(payloads(hex('8001'))).value).toMatchObject({format: 'bytes', value: null})
    expect(stub.requests).toEqual(['/subjects/points-value/versions/latest'])
  })

  test('Protobuf without a frame: the message that is named, else the first', async () => {
    const files = {'p.proto': 'syntax = "proto3"; message A { int32 a = 1; } message B { int32 b = 1; }'}
    const first = await setUp(null, {formats: ['protobuf:p.proto'], files})
    expect(first.decoders.decode(payloads(hex('0805'))).value.value).toEqual({a: 5})
    const named = await setUp(null, {formats: ['protobuf:p.proto#B'], files})
    expect(named.decoders.decode(payloads(hex('0805'))).value.value).toEqual({b: 5})
  })

  test.each([
    ['avro:gone.avsc', 'the schema gone.avsc cannot be read (ENOENT)'],
    ['avro:p.avsc', 'p.avsc: the schema cannot be used'],
  ])('%s is wrong use', async (format, message) => {
    await expect(setUp(null, {formats: [format], files: {'p.avsc': '{}'}})).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message) as string,
    })
  })
})

describe('with a registry', () => {
  test('schema id before the payload; the subject of its topic is named', async () => {
    await using stub = await startStubRegistry()
    stub.ids.set(1, {schema: POINT})
    stub.subjects.set(1, [
      {subject: 'refunds-value', version: 1},
      {subject: 'orders-value', version: 4},
    ])
    const {decoders} = await setUp(stub)
    const record = payloads(framed(1, hex('02')))
    await decoders.prepare(record)
    expect(decoders.decode(record, {topics: ['orders', 'orders-dlq']}).value).toEqual({
      format: 'avro',
      value: {x: 1n},
      schema: {id: 1, type: 'AVRO', subject: 'orders-value', version: 4, name: 'Point'},
    })
    expect(decoders.prepare(record)).toBeUndefined()
  })

  test('a value that does not fit names the byte of the record and the field', async () => {
    await using stub = await startStubRegistry()
    stub.ids.set(1, {schema: POINT})
    const {decoders} = await setUp(stub)
    expect((await decoders.decodeFetched(payloads(framed(1, hex('0200'))))).value).toMatchObject({
      format: 'avro',
      value: null,
      error: {step: 'decode', message: 'the value ends here, but 1 byte follows', at: 6},
    })
  })

  test('[BR-62] schema id in a header, as a GUID or a number, for values and keys', async () => {
    await using stub = await startStubRegistry()
    stub.guids.set(GUID, {schema: POINT})
    stub.ids.set(9, {schema: '"string"'})
    const {decoders} = await setUp(stub)
    const headers = [
      ['__value_schema_id', Buffer.concat([Buffer.from([1]), guidBytes])],
      ['__key_schema_id', hex('00 00000009')],
    ] as const
    const record = payloads(hex('02'), hex('026b'), headers)
    expect(await decoders.decodeFetched(record)).toEqual({
      key: {format: 'avro', value: 'k', schema: {id: 9, type: 'AVRO'}},
      value: {format: 'avro', value: {x: 1n}, schema: {guid: GUID, type: 'AVRO', name: 'Point'}},
    })
    expect(record.headers).toHaveLength(2)
    const broken = await decoders.decodeFetched(payloads('x', null, [['__value_schema_id', 'nonsense']]))
    expect(broken.value).toMatchObject({
      value: 'x',
      error: {step: 'framing', message: expect.stringContaining('__value_schema_id') as string},
    })
  })

  test('a GUID before the payload is asked for, too', async () => {
    await using stub = await startStubRegistry()
    stub.guids.set(GUID, {schema: POINT})
    const {decoders} = await setUp(stub)
    const bytes = Buffer.concat([Buffer.from([1]), guidBytes, hex('04')])
    expect((await decoders.decodeFetched(payloads(bytes))).value).toMatchObject({value: {x: 2n}, schema: {guid: GUID}})
  })

  test('[BR-78] a value that breaks its schema is judged once and told, nothing is tried again', async () => {
    await using stub = await startStubRegistry()
    stub.ids.set(5, {schemaType: 'JSON', schema: '{"type":"object","required":["id"]}'})
    const {decoders} = await setUp(stub)
    const record = payloads(framed(5, '{}'))
    for (let round = 0; round < 3; round++) {
      expect((await decoders.decodeFetched(record)).value).toMatchObject({value: {}, error: {step: 'validate', at: 5}})
    }
    expect(stub.requests).toEqual(['/schemas/ids/5', '/schemas/ids/5/versions'])
  })
})

describe('payloads that are something else', () => {
  test('[BR-63] a pointer to a payload elsewhere is named, its bytes are shown, nothing is asked', async () => {
    await using stub = await startStubRegistry()
    const {decoders} = await setUp(stub)
    const record = payloads('s3://bucket/key', null, [['__large_message', 'true']])
    expect((await decoders.decodeFetched(record)).value).toEqual({
      format: 'external',
      value: 's3://bucket/key',
      error: {step: 'detect', message: 'external payload: header __large_message says that this is a pointer to it'},
    })
    expect((await decoders.decodeFetched(payloads(framed(1, 'x'), null, [['X-Claim-Check', 'id']]))).value.format).toBe(
      'external',
    )
    expect(stub.requests).toEqual([])
  })

  test('the reader that failed says what was expected', async () => {
    const {decoders} = await setUp(null)
    const decode = (value: string, format: 'avro' | 'json') =>
      decoders.decode(payloads(value), {expect: {value: format}}).value
    expect(decode('abcd', 'avro')).toEqual({
      format: 'text',
      value: 'abcd',
      error: {
        step: 'framing',
        message: 'read as avro, not in wire format: byte 0x61 stands where 0 or 1 is expected',
        at: 0,
      },
    })
    expect(decode('abcd', 'json').error).toMatchObject({
      message: "read as json, a value is expected, here is 'a'",
      at: 0,
    })
    expect(decode('[1]', 'json').error).toBeUndefined()
  })

  test('[CR-18] a decoded view is never what a record is rebuilt from: a line with one gives the bytes back', async () => {
    const decode = await plainDecoder()
    const letter = createDeadLetter(recordWith([['t', 'x']], {key: hex('00ff'), value: hex('7b226122ff7d')}))
    const line = jsonText(deadLetterToJson(letter, decode(letter)), false)
    expect(JSON.parse(line)).toMatchObject({decoded: {key: null, value: null}})
    const read = parseArchiveLine(line, 1, 'lines')
    expect([read.key, read.value]).toEqual([letter.record.key, letter.record.value])
  })
})

describe("Spring's type headers", () => {
  test('[BR-28] types of headers are told beside all values of a header that repeats', async () => {
    const types = '{"t":"java.lang.String","n":"java.lang.Integer"}'
    const record = recordWith([
      ['t', '"one"'],
      ['t', '"two"'],
      ['spring_json_header_types', types],
      ['__TypeId__', 'com.acme.Order'],
    ])
    expect(springTypes(record.headers).headers).toEqual([
      ['t', 'java.lang.String'],
      ['n', 'java.lang.Integer'],
    ])
    const json = deadLetterToJson(createDeadLetter(record), (await plainDecoder())({record}))
    expect(json.headers.filter(([name]) => name === 't')).toEqual([
      ['t', '"one"'],
      ['t', '"two"'],
    ])
    expect(json.decoded).toMatchObject({
      types: {
        value: 'com.acme.Order',
        headers: [
          ['t', 'java.lang.String'],
          ['n', 'java.lang.Integer'],
        ],
      },
    })
  })

  test('[BR-30] an empty header with a type is an empty string, no error', async () => {
    const record = recordWith([
      ['traceId', ''],
      ['spring_json_header_types', '{"traceId":"java.lang.String"}'],
    ])
    const json = deadLetterToJson(createDeadLetter(record), (await plainDecoder())({record}))
    expect(json.headers[0]).toEqual(['traceId', ''])
    expect(json.decoded?.error).toBeUndefined()
  })

  test.each(['', '[]', '{"t":', '"x"', '{"t":1}'])('types that are %s name nothing', text => {
    expect(springTypes(recordWith([['spring_json_header_types', text]]).headers).headers).toEqual([])
  })
})
