import {inspect} from 'node:util'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {UsageError} from '../../../../src/lib/errors.ts'
import {
  createConnectionConfig,
  formatAddress,
  parseBootstrapServers,
  PLAINTEXT,
  Secret,
} from '../../../../src/lib/kafka/client/security.ts'

describe('bootstrap servers', () => {
  test.each([
    ['a:9092', [{host: 'a', port: 9092}]],
    [
      ' a:1 , b-c.d_e:65535,',
      [
        {host: 'a', port: 1},
        {host: 'b-c.d_e', port: 65_535},
      ],
    ],
    [
      '[::1]:9093,127.0.0.1:9092',
      [
        {host: '::1', port: 9093},
        {host: '127.0.0.1', port: 9092},
      ],
    ],
  ])('%s', (text, addresses) => {
    expect(parseBootstrapServers(text)).toEqual(addresses)
  })

  test.each([
    ['', 'no bootstrap server is given'],
    [' , ', 'no bootstrap server is given'],
    ['kafka', 'the port is missing'],
    ['kafka:', 'not an address'],
    ['kafka:port', 'the port is missing'],
    ['kafka:0', 'a port is a number from 1 to 65535'],
    ['kafka:65536', 'a port is a number from 1 to 65535'],
    ['::1', 'an IPv6 address needs brackets and a port'],
    ['[kafka]:9092', 'brackets are for IPv6 addresses'],
    ['[::1]', 'the port is missing'],
    ['SASL_SSL://kafka:9092', 'a protocol has no place here'],
    ['user@kafka:9092', 'not an address'],
    ['a b:9092', 'not an address'],
    ['a:1,b', 'bootstrap server b: the port is missing'],
  ])('%s is refused: %s', (text, reason) => {
    expect(() => parseBootstrapServers(text)).toThrow(UsageError)
    expect(() => parseBootstrapServers(text)).toThrow(reason)
  })

  test('[BR-79] a REST proxy is refused with the reason: it gives no headers', () => {
    let error: unknown = null
    try {
      parseBootstrapServers('http://proxy:8082')
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject({
      exitCode: 2,
      message: "bootstrap server http://proxy:8082: an HTTP address; kdlq speaks Kafka's own protocol",
      hints: [expect.stringContaining('gives no headers')],
    })
  })

  test('what is printed parses back to the same address', () => {
    const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6())
    fc.assert(
      fc.property(
        fc.array(fc.record({host, port: fc.integer({min: 1, max: 65_535})}), {minLength: 1, maxLength: 5}),
        addresses => {
          expect(parseBootstrapServers(addresses.map(address => formatAddress(address)).join(','))).toEqual(addresses)
        },
      ),
    )
  })
})

test('a secret never prints, whatever prints it', () => {
  const config = createConnectionConfig(
    {...PLAINTEXT, sasl: {mechanism: 'PLAIN', username: 'u', password: new Secret('hunter2')}},
    {bootstrapServers: [{host: 'a', port: 1}], clientId: 'kdlq'},
  )
  const {sasl} = config
  const secret = sasl?.mechanism === 'PLAIN' ? sasl.password : null
  expect(secret?.reveal()).toBe('hunter2')
  const prints = [
    JSON.stringify(config),
    inspect(config, {depth: 9, showHidden: true}),
    String(secret),
    inspect(secret),
  ]
  expect(prints.join()).not.toContain('hunter2')
  expect(prints[0]).toContain('[redacted]')
})

test('timeouts are five and thirty seconds unless given', () => {
  const options = {bootstrapServers: [], clientId: 'kdlq'}
  expect(createConnectionConfig(PLAINTEXT, options)).toMatchObject({timeoutMs: 5000, requestTimeoutMs: 30_000})
  expect(createConnectionConfig(PLAINTEXT, {...options, timeoutMs: 0, requestTimeoutMs: 1})).toMatchObject({
    timeoutMs: 0,
    requestTimeoutMs: 1,
  })
})
