import {expect, test} from 'vitest'
import {
  ByteArrayConverter,
  SimpleHeaderConverter,
  StringConverter,
} from '../../../src/lib/connect-engine/converters/simple-converters.ts'
import {JsonConverter} from '../../../src/lib/connect-engine/converters/json-converter.ts'
import {SinkRecord, type SinkRecordFields} from '../../../src/lib/connect-engine/data.ts'
import {createPlugins, PLUGINS} from '../../../src/lib/connect-engine/plugins.ts'
import {Cast} from '../../../src/lib/connect-engine/transforms/cast.ts'
import {ExtractField, RegexRouter} from '../../../src/lib/connect-engine/transforms/simple-transforms.ts'

function record(fields: Partial<SinkRecordFields>): SinkRecord {
  return new SinkRecord({
    topic: 't',
    partition: 0,
    offset: 0n,
    keySchema: null,
    key: null,
    valueSchema: null,
    value: null,
    timestamp: null,
    timestampType: 'NoTimestampType',
    headers: [],
    ...fields,
  })
}

test.each<[spec: string, input: unknown, output: unknown]>([
  ['int32', '12', 12],
  ['int8', 300n, 44],
  ['int64', 2.9, 2n],
  ['int64', 1e30, 2n ** 63n - 1n],
  ['int32', -1e30, -(2 ** 31)],
  ['int8', Infinity, -1],
  ['boolean', Number.NaN, false],
  ['int16', true, 1],
  ['float64', '1.5e1', 15],
  ['float32', '0.1', Math.fround(0.1)],
  ['boolean', 'TRUE', true],
  ['boolean', 0.5, false],
  ['string', 1e7, '1.0E7'],
  ['string', 5n, '5'],
  ['string', Buffer.from([1, 2]), 'AQI='],
])('Cast to %s turns %s into %s', (spec, input, output) => {
  expect(new Cast('Value', spec).apply(record({value: input})).value).toEqual(output)
})

test.each([
  ['int32', 'twelve', 'Value (twelve) was out of range for requested data type'],
  ['int8', '128', 'Value (128) was out of range for requested data type'],
  ['int64', '9223372036854775808', 'Value (9223372036854775808) was out of range for requested data type'],
  ['int8', [1n], 'Cast transformation does not support casting from ARRAY; supported types are [INT8, '],
  ['int8', Buffer.of(1), 'Unexpected type in Cast transformation: class [B'],
  ['float64', '', 'Value () was out of range for requested data type'],
])('Cast to %s refuses %s as Connect does', (spec, input, message) => {
  expect(() => new Cast('Value', spec).apply(record({value: input}))).toThrow(message)
})

test('Cast works on fields, of maps and of structs, and leaves null alone', () => {
  const cast = new Cast('Value', 'a:int32, b:string')
  expect(cast.className).toBe('org.apache.kafka.connect.transforms.Cast$Value')
  const map = cast.apply(record({value: new Map<string, unknown>([['a', '1'], ['c', true]])})) // prettier-ignore
  expect(map.value).toEqual(new Map<string, unknown>([['a', 1], ['c', true], ['b', null]])) // prettier-ignore
  const text =
    '{"schema":{"type":"struct","fields":[{"field":"a","type":"string"},{"field":"c","type":"int8"}]},"payload":{"a":"7","c":1}}'
  const {schema: valueSchema, value} = new JsonConverter().toConnectData('t', Buffer.from(text))
  const struct = cast.apply(record({valueSchema, value}))
  expect(
    new JsonConverter({schemasEnable: false}).fromConnectData('t', struct.valueSchema, struct.value)?.toString(),
  ).toBe('{"a":7,"c":1}')
  expect(cast.apply(record({})).value).toBeNull()
  expect(() => cast.apply(record({value: 'text'}))).toThrow(
    'Only Map objects supported in absence of schema for [cast types], found: java.lang.String',
  )
  const valueText = {valueSchema: new StringConverter().toConnectData('t', null).schema, value: 'text'}
  expect(() => cast.apply(record(valueText))).toThrow('Cannot list fields on non-struct type')
  expect(() => new Cast('Value', 'a:uuid')).toThrow('Invalid type found in casting spec: uuid')
})

test('ExtractField takes a field out; a tombstone stays one', () => {
  const extract = new ExtractField('Key', 'id')
  expect(extract.apply(record({key: new Map([['id', 5n]])})).key).toBe(5n)
  expect(extract.apply(record({key: new Map()})).key).toBeNull()
  expect(extract.apply(record({})).key).toBeNull()
  expect(() => extract.apply(record({key: 'x'}))).toThrow('[field extraction], found: java.lang.String')
  const text = '{"schema":{"type":"struct","fields":[{"field":"a","type":"string"}]},"payload":{"a":"7"}}'
  const {schema: keySchema, value: key} = new JsonConverter().toConnectData('t', Buffer.from(text))
  expect(() => extract.apply(record({keySchema, key}))).toThrow('Unknown field: id')
  expect(new ExtractField('Key', 'a').apply(record({keySchema, key}))).toMatchObject({
    key: '7',
    keySchema: {type: 'STRING'},
  })
})

test('RegexRouter replaces whole names only, with groups and escapes', () => {
  const router = new RegexRouter('orders-(?<region>\\w+)-(\\d)', 'all.$2.${region}\\$')
  expect(router.apply(record({topic: 'orders-eu-1'})).topic).toBe('all.1.eu$')
  expect(router.apply(record({topic: 'x-orders-eu-1'})).topic).toBe('x-orders-eu-1')
  expect(() => new RegexRouter('a', '$1').apply(record({topic: 'a'}))).toThrow('No group 1')
  expect(() => new RegexRouter('(', '')).toThrow('Invalid regex: Unclosed group')
  const route = (regex: string, replacement: string, topic: string): string =>
    new RegexRouter(regex, replacement).apply(record({topic})).topic
  expect(route('(a)(b)?c', '[$2]', 'ac')).toBe('[]')
  expect(route('a(.)c', '$12', 'abc')).toBe('b2')
  expect(() => route('abc', '$', 'abc')).toThrow('Illegal group reference: group index is missing')
  expect(() => route('abc', '$x', 'abc')).toThrow('Illegal group reference')
  expect(() => route('abc', '${x}', 'abc')).toThrow('No group with name {x}')
  expect(() => route('abc', 'a\\', 'abc')).toThrow('character to be escaped is missing')
})

test('plugins are made from the properties of connector and worker', async () => {
  const worker = {
    'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
    'value.converter.schemas.enable': 'false',
  }
  const plugins = createPlugins(
    {
      'key.converter': 'org.apache.kafka.connect.converters.ByteArrayConverter',
      transforms: 'drop, cast',
      'transforms.drop.type': 'org.apache.kafka.connect.transforms.Filter',
      'transforms.drop.predicate': 'tombstone',
      'transforms.drop.negate': ' TRUE ',
      'transforms.cast.type': 'org.apache.kafka.connect.transforms.Cast$Value',
      'transforms.cast.spec': 'a:int32',
      'transforms.cast.predicate': 'header',
      'predicates.tombstone.type': 'org.apache.kafka.connect.transforms.predicates.RecordIsTombstone',
      'predicates.header.type': 'org.apache.kafka.connect.transforms.predicates.HasHeaderKey',
      'predicates.header.name': 'h',
      predicates: 'tombstone, header',
    },
    worker,
  )
  expect(plugins.keyConverter).toBeInstanceOf(ByteArrayConverter)
  expect(plugins.headerConverter).toBeInstanceOf(SimpleHeaderConverter)
  expect(await plugins.valueConverter.toConnectData('t', Buffer.from('{}'), [])).toEqual({
    schema: null,
    value: new Map(),
  })
  const [drop, cast] = plugins.transformations
  expect([drop?.negate, drop?.predicate?.test(record({})), drop?.predicate?.test(record({value: 1}))]).toEqual([
    true,
    true,
    false,
  ])
  const withHeader = record({headers: [{key: 'h', schema: null, value: null}]})
  expect([cast?.negate, cast?.predicate?.test(record({})), cast?.predicate?.test(withHeader)]).toEqual([
    false,
    false,
    true,
  ])
})

test('what a configuration names wrongly is said in the words of Kafka', () => {
  expect(() => createPlugins({})).toThrow('Missing required configuration "key.converter" which has no default value.')
  const strings = {
    'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
  }
  expect(() => createPlugins({...strings, 'value.converter': 'io.example.Mine'})).toThrow(
    'Invalid value io.example.Mine for configuration value.converter: Class io.example.Mine could not be found.',
  )
  expect(() => createPlugins({...strings, transforms: 'a'})).toThrow('"transforms.a.type"')
  const mine = {...PLUGINS, converters: {'io.example.Mine': () => new StringConverter()}}
  expect(
    createPlugins({'key.converter': 'io.example.Mine', 'value.converter': 'io.example.Mine'}, {}, mine),
  ).toMatchObject({
    transformations: [],
  })
  expect(() => createPlugins({...strings, 'key.converter': 'constructor'})).toThrow('could not be found')
})

test('text and bytes pass as they are, headers get the type that they look like', () => {
  const [strings, bytes, headers] = [new StringConverter(), new ByteArrayConverter(), new SimpleHeaderConverter()]
  const broken = Buffer.from('ff61', 'hex')
  expect(strings.toConnectData('t', broken).value).toBe('\ufffda')
  expect([strings.toConnectData('t', null).value, strings.fromConnectData('t', null, null)]).toEqual([null, null])
  expect(strings.fromConnectData('t', null, new Map([['a', 1n]]))?.toString()).toBe('{a=1}')
  expect(bytes.toConnectData('t', broken)).toMatchObject({schema: {type: 'BYTES'}, value: broken})
  expect(() => bytes.fromConnectData('t', null, 'x')).toThrow('not compatible')
  const typed = (text: string): unknown => headers.toConnectHeader('t', 'h', Buffer.from(text))
  expect(typed('true')).toMatchObject({schema: {type: 'BOOLEAN'}, value: true})
  expect(typed('300')).toMatchObject({schema: {type: 'INT16'}, value: 300})
  expect(typed('5000000000')).toMatchObject({schema: {type: 'INT64'}, value: 5_000_000_000n})
  expect(typed('1.5')).toMatchObject({value: 1.5})
  expect(typed('null')).toEqual({schema: null, value: null})
  expect(typed('a, b')).toMatchObject({schema: {type: 'STRING'}, value: 'a, b'})
  expect(headers.fromConnectHeader('t', 'h', null, 300)?.toString()).toBe('300')
})
