import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {expect, onTestFinished, test} from 'vitest'
import {parseSettings, readConnectorConfig, toErrorHandling} from '../../../src/lib/cli/connector-config.ts'

async function read(text: string, name = 'connector.json') {
  const dir = await mkdtemp(join(tmpdir(), 'kdlq-connector-'))
  onTestFinished(() => rm(dir, {recursive: true}))
  const path = join(dir, name)
  await writeFile(path, text)
  return readConnectorConfig(path)
}

const CONFIG = {name: 'orders-sink', topics: 'orders', 'errors.tolerance': 'all'}
const FOUND = {name: 'orders-sink', properties: CONFIG}

test.each([
  ['the map of /config', CONFIG],
  ['what is sent to create one', {name: 'orders-sink', config: CONFIG}],
  ['the answer about one', {name: 'orders-sink', config: CONFIG, tasks: [], type: 'sink'}],
  ['an expanded list of one', {'orders-sink': {info: {name: 'orders-sink', config: CONFIG}, status: {}}}],
])('JSON: %s', async (_name, document) => {
  expect(await read(JSON.stringify(document))).toEqual(FOUND)
})

test('properties, with comments and long lines', async () => {
  const text = '# a sink\nname = orders-sink\ntopics: orders\nerrors.tolerance=\\\n  all\n'
  expect(await read(text, 'connector.properties')).toEqual(FOUND)
})

test('numbers and flags of JSON count as their text, null stays', async () => {
  const {properties} = await read('{"errors.retry.timeout": 5000, "errors.log.enable": true, "x": null}')
  expect(properties).toEqual({'errors.retry.timeout': '5000', 'errors.log.enable': 'true', x: null})
})

test.each([
  ['broken JSON', '{"name":', /begins like JSON and is none/],
  ['several connectors', '{"a":{"info":{"config":{}}},"b":{"info":{"config":{}}}}', /holds 2 connectors/],
  ['a JSON list', '[{"name": "a", "config": {}}]', /holds no connector configuration/],
  ['a JSON text', '"errors.tolerance=all"', /holds no connector configuration/],
  ['bytes that are no text', '\0\x01\xff', /is no text/],
  ['a list as a value', '{"topics":["a"]}', /topics has to be a text/],
])('%s is refused by name', async (_name, text, message) => {
  await expect(read(text)).rejects.toMatchObject({exitCode: 2})
  await expect(read(text)).rejects.toThrow(message)
})

test('a byte order mark is no part of the first key', async () => {
  expect(await read('\ufefferrors.tolerance=all\n')).toMatchObject({properties: {'errors.tolerance': 'all'}})
  expect(await read(`\ufeff${JSON.stringify(CONFIG)}`)).toEqual(FOUND)
})

test('a file that is not there is refused', async () => {
  await expect(readConnectorConfig('/nowhere/c.json')).rejects.toMatchObject({exitCode: 2})
})

test('settings on the line: Connect has to know its errors keys, other keys are the connector’s own', () => {
  expect(parseSettings('--set', ['errors.tolerance=all', 'my.key=a=b'])).toEqual({
    'errors.tolerance': 'all',
    'my.key': 'a=b',
  })
  expect(() => parseSettings('--set', ['errors.tolerence=all'])).toThrow(/no setting errors.tolerence/)
  expect(() => parseSettings('--set', ['errors.tolerance'])).toThrow(/is no KEY=VALUE/)
  expect(() => parseSettings('--set', ['=all'])).toThrow(/is no KEY=VALUE/)
})

test('error handling: Connect’s own words for what it refuses; topics play no part', () => {
  expect(toErrorHandling({topics: 'a,a', 'topics.regex': '('}, 'P4x')).toMatchObject({
    tolerance: 'none',
    usesDlq: false,
  })
  expect(toErrorHandling({'errors.deadletterqueue.topic.name': ' d '}, 'P39')).toMatchObject({dlqTopicName: 'd'})
  expect(() => toErrorHandling({'errors.tolerance': 'ALL'}, 'P4x')).toThrow(/String must be one of: none, all/)
})
