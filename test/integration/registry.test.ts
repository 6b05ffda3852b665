import {mkdir, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {SchemaRegistry, SchemaType} from '@kafkajs/confluent-schema-registry'
import protobuf from 'protobufjs'
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest'
import {ensureLibs} from '../../sandbox/libs.ts'
import {type SchemaRegistryProcess, startSchemaRegistry} from '../../sandbox/schema-registry.ts'
import {createTestAuthority, type TestAuthority} from '../../sandbox/tls.ts'
import {kdlq} from '../cli/support/kdlq.ts'
import {connectPlain} from '../support/kafka-client.ts'
import {eventually, unique} from '../support/sandbox.ts'
import {startStubRegistry} from '../support/stub-registry.ts'

const CUSTOMER = {type: 'record', name: 'Customer', namespace: 'acme', fields: [{name: 'id', type: 'long'}]}
const ORDER = {
  type: 'record',
  name: 'Order',
  namespace: 'acme',
  fields: [
    {name: 'by', type: 'acme.Customer'},
    {
      name: 'items',
      type: {type: 'array', items: {type: 'record', name: 'Item', fields: [{name: 'price', type: 'double'}]}},
    },
  ],
}
const MONEY = 'syntax = "proto3"; package acme; message Money { int64 cents = 1; }'
const INVOICE = `syntax = "proto3"; package acme; import "money.proto";
message First { int32 a = 1; }
message Invoice { message Line { string sku = 1; Money price = 2; } repeated Line lines = 1; }`

const topic = unique('registry-dlq')
let folder = ''
let registry: SchemaRegistryProcess | null = null
let authority: TestAuthority | null = null
const env = (): Record<string, string> => ({
  KDLQ_BOOTSTRAP_SERVER: inject('bootstrapServers'),
  KDLQ_SCHEMA_REGISTRY: registry?.url ?? '',
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-registry-'))
  const libs = await ensureLibs('4.4.0')
  const starting = startSchemaRegistry(libs, join(inject('kafkaDir'), 'schema-registry'))
  // Both are JVMs that mostly wait.
  ;[registry, authority] = await Promise.all([starting, createTestAuthority(libs, join(folder, 'keys'))])
  // Avro and JSON come from another implementation, Protobuf with the indexes that it does not write.
  const writer = new SchemaRegistry({host: registry.url})
  await register('customer', {schema: JSON.stringify(CUSTOMER)})
  const avro = await writer.register(
    {
      type: SchemaType.AVRO,
      schema: JSON.stringify(ORDER),
      references: [{name: 'acme.Customer', subject: 'customer', version: 1}],
    },
    {subject: 'orders-value'},
  )
  const json = await writer.register(
    {
      type: SchemaType.JSON,
      schema: JSON.stringify({title: 'Payment', type: 'object', properties: {amount: {type: 'number'}}}),
    },
    {subject: 'payments-value'},
  )
  await register('money', {schema: MONEY, schemaType: 'PROTOBUF'})
  const references = [{name: 'money.proto', subject: 'money', version: 1}]
  const proto = await register('invoices-value', {schema: INVOICE, schemaType: 'PROTOBUF', references})
  const root = new protobuf.Root()
  for (const text of [MONEY, INVOICE]) protobuf.parse(text, root, {keepCase: true})
  const line = root
    .lookupType('acme.Invoice.Line')
    .encode({sku: 'x', price: {cents: 250}})
    .finish()
  const order = await writer.encode(avro.id, {by: {id: 7}, items: [{price: 1.5}, {price: 2}]})
  const values: Buffer[] = [
    order,
    frame(proto, Buffer.from([4, 2, 0]), line),
    await writer.encode(json.id, {amount: 5}),
    order.subarray(0, order.length - 3),
    frame(json.id, Buffer.from('{"amount":"x"}')),
    frame(99_999, Buffer.from('x')),
  ]
  const lines = values.map((value, offset) =>
    JSON.stringify({
      topic,
      partition: 0,
      offset,
      key: `k-${offset}`,
      value: {base64: value.toString('base64')},
      headers: [],
    }),
  )
  const archive = join(folder, 'records.ndjson')
  await writeFile(archive, `${lines.join('\n')}\n`)
  const {code, stderr} = await kdlq(['import', archive, '--create', '--yes'], {env: env()})
  if (code !== 0) throw new Error(stderr)
}, 240_000)

afterAll(async () => {
  await registry?.[Symbol.asyncDispose]()
  await rm(folder, {recursive: true, force: true})
})

async function createTopics(names: readonly string[]): Promise<void> {
  await using cluster = await connectPlain(inject('bootstrapServers'))
  for (const name of names) {
    await cluster.admin.createTopic({name, partitions: 1, replicationFactor: 1, configs: {'retention.ms': '-1'}})
    await eventually(`topic ${name}`, async () => {
      const [found] = await cluster.reader.topics([name])
      return found?.error === null && found.partitions.every(({leader}) => leader !== null) ? found : null
    })
  }
}

function frame(id: number, ...parts: readonly Uint8Array[]): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeInt32BE(id, 1)
  return Buffer.concat([prefix, ...parts])
}

async function register(subject: string, body: unknown): Promise<number> {
  const response = await fetch(`${registry?.url}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: {'content-type': 'application/vnd.schemaregistry.v1+json'},
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${subject}: ${response.status} ${await response.text()}`)
  return ((await response.json()) as {id: number}).id
}

describe('records of a real broker, schemas of a real registry', () => {
  test('Avro with a reference, a nested Protobuf message with an import, JSON Schema; failures are fields', async () => {
    const {code, stdout} = await kdlq(['inspect', topic, '--decode', '-o', 'jsonl'], {env: env()})
    expect(code).toBe(0)
    const decoded = stdout
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as {decoded: unknown}).decoded)
    expect(decoded).toMatchObject([
      {
        value: {by: {id: '7'}, items: [{price: 1.5}, {price: 2}]},
        schema: {type: 'AVRO', subject: 'orders-value', name: 'acme.Order'},
      },
      {value: {sku: 'x', price: {cents: '250'}}, schema: {type: 'PROTOBUF', name: 'acme.Invoice.Line'}},
      {value: {amount: 5}, schema: {type: 'JSON', subject: 'payments-value', name: 'Payment'}},
      {value: null, error: {step: 'decode', field: 'items[1].price', at: 15}},
      {value: {amount: 'x'}, error: {step: 'validate', field: 'amount', at: 15}},
      {value: null, schema: {id: 99_999}, error: {step: 'registry', reason: 'not-found'}},
    ])
  })

  test('show --decode prints the value, its schema, and where it stops making sense', async () => {
    const {code, stdout} = await kdlq(['show', `${topic}:0:0`, `${topic}:0:3`, '--decode'], {env: env()})
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /Value \d+ B avro, schema \d+, orders-value version 1, acme\.Order\n\{\n {2}"by": \{\n {4}"id": "7"/,
    )
    expect(stdout).toContain(
      'makes no sense at byte 15, reading items[1].price: the bytes end inside a double: 8 needed, 6 left\n',
    )
  })

  test('--where asks values by their schemas', async () => {
    const where = 'has(value.by) && value.by.id == 7.0 && value.items.exists(i, i.price > 1.9)'
    const {code, stdout} = await kdlq(['inspect', topic, '--where', where, '-o', 'jsonl'], {env: env()})
    expect(code).toBe(0)
    expect(
      stdout
        .trim()
        .split('\n')
        .map(line => (JSON.parse(line) as {offset: string}).offset),
    ).toEqual(['0'])
  })

  test('replay --decode parks the poison record and sends the others, as they are', async () => {
    const target = unique('registry-orders')
    const [parking, ledger] = [`${target}-parking`, `${target}-ledger`]
    await createTopics([target, parking])
    const addresses = [0, 3].map(offset => `${topic}:0:${offset}`)
    const flags = [
      '--target-topic',
      target,
      '--partition-rule',
      'key',
      '--ledger',
      `topic:${ledger}`,
      '--create-ledger',
    ]
    const errors = ['--parking-topic', parking, '--errors-retry-timeout', '10s', '--yes', '--json']
    const {code, stdout} = await kdlq(['replay', ...addresses, '--decode', 'value=avro', ...flags, ...errors], {
      env: env(),
    })
    expect(JSON.parse(stdout)).toMatchObject({
      result: {
        counts: {selected: 2, replayed: 1, parked: 1},
        failures: [{address: `${topic}:0:3`, state: 'parked', code: 'E_DECODE'}],
        checks: expect.arrayContaining([
          expect.objectContaining({id: 'schema', level: 'warn', count: 1, addresses: [`${topic}:0:3`]}),
        ]) as unknown,
      },
    })
    expect(code).toBe(3)
    const parked = await kdlq(['inspect', parking, '-o', 'jsonl'], {env: env()})
    expect(JSON.parse(parked.stdout)).toMatchObject({
      failure: {
        stage: 'VALUE_CONVERTER',
        exception: {class: 'org.apache.kafka.connect.errors.DataException'},
        origin: {topic, partition: 0, offset: '3'},
      },
    })
    const sent = await kdlq(['inspect', target, '--decode', '-o', 'jsonl'], {env: env()})
    expect(JSON.parse(sent.stdout)).toMatchObject({decoded: {value: {by: {id: '7'}}}})
  })

  test('a registry that wants a certificate and a token gets them from the profile, another address gets neither', async () => {
    if (authority === null) throw new Error('no authority')
    const {client, caFile} = authority
    const [key, cert, ca] = await Promise.all(
      [authority.server.keyFile, authority.server.certFile, authority.caFile].map(async path => readFile(path, 'utf8')),
    )
    await using stub = await startStubRegistry({key, cert, ca, requestCert: true, rejectUnauthorized: true})
    stub.ids.set(99_999, {schema: '{"type":"fixed","name":"F","size":1}'})
    await mkdir(join(folder, 'kdlq'))
    const tls = {ca: caFile, cert: client.certFile, key: client.keyFile}
    const profile = {
      bootstrapServers: inject('bootstrapServers'),
      schemaRegistry: {url: stub.url, tokenEnv: 'TOKEN', tls},
    }
    await writeFile(join(folder, 'kdlq', 'config.yaml'), JSON.stringify({profiles: {prod: profile}}))
    const show = async (extra: Record<string, string>) =>
      kdlq(['show', `${topic}:0:5`, '--profile', 'prod', '-o', 'jsonl'], {
        env: {XDG_CONFIG_HOME: folder, TOKEN: 't0ken', ...extra},
      })
    expect(JSON.parse((await show({})).stdout)).toMatchObject({decoded: {value: 'x', schema: {id: 99_999}}})
    expect(new Set(stub.authorizations)).toEqual(new Set(['Bearer t0ken']))
    const elsewhere = stub.url.replace('127.0.0.1', 'localhost')
    const refused = await show({KDLQ_SCHEMA_REGISTRY: elsewhere})
    expect(refused.code).toBe(0)
    expect(refused.stderr).toContain(`the schema registry ${elsewhere} cannot be reached`)
    expect(stub.authorizations).toHaveLength(2)
  })
})
