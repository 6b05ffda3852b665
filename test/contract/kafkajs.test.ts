import {expect, test} from 'vitest'
import kafkajs from 'kafkajs/package.json' with {type: 'json'}
import {loadKafkajs} from '../../src/lib/kafka/client/kafkajs-load.ts'

const logger = {namespace: () => logger, debug() {}, info() {}, warn() {}, error() {}}

const options = {
  host: '127.0.0.1',
  port: 1,
  rack: null,
  logger,
  socketFactory: () => {
    throw new Error('no socket is opened here')
  },
  ssl: null,
  sasl: null,
  clientId: 'contract',
  connectionTimeout: 1000,
  requestTimeout: 1000,
  enforceRequestTimeout: false,
  maxInFlightRequests: null,
  reauthenticationThreshold: 10_000,
}

/** Name and number of declared parameters of the methods that are called or replaced. */
function arity(target: object, names: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    names.map(name => {
      const method: unknown = Reflect.get(target, name)
      return [name, typeof method === 'function' ? method.length : -1]
    }),
  )
}

test('is the version whose inner files were read', () => {
  expect(kafkajs.version).toBe('2.2.4')
})

test('has the connection that the guards replace parts of', async () => {
  const {Connection} = await loadKafkajs()
  const connection = new Connection(options)
  expect(Connection.length).toBe(1)
  expect(
    arity(connection, [
      'connect',
      'disconnect',
      'isConnected',
      'isAuthenticated',
      'send',
      'processData',
      'authenticate',
    ]),
  ).toEqual({
    connect: 0,
    disconnect: 0,
    isConnected: 0,
    isAuthenticated: 0,
    send: 1,
    processData: 1,
    authenticate: 0,
  })
  expect(connection).toMatchObject({
    chunks: [],
    bytesBuffered: 0,
    bytesNeeded: 4,
    connectionStatus: 'disconnected',
    authHandlers: null,
    authExpectResponse: false,
    authenticatedAt: null,
    reauthenticationThreshold: 10_000,
  })
  expect(String(connection.sessionLifetime)).toBe('0')
  expect(
    arity(connection.requestQueue, ['scheduleCheckPendingRequests', 'fulfillRequest', 'rejectAll', 'destroy', 'push']),
  ).toEqual({
    scheduleCheckPendingRequests: 0,
    fulfillRequest: 1,
    rejectAll: 1,
    destroy: 0,
    push: 1,
  })
  expect(connection.requestQueue.pending).toEqual([])
})

test('has a pool of two connections, and a broker that connects through the first', async () => {
  const {Broker, ConnectionPool} = await loadKafkajs()
  const pool = new ConnectionPool(options)
  expect(pool.pool).toHaveLength(2)
  expect(arity(pool, ['send', 'getConnection', 'getConnectionByRequest', 'isConnected'])).toEqual({
    send: 1,
    getConnection: 0,
    getConnectionByRequest: 1,
    isConnected: 0,
  })
  const broker = new Broker({
    connectionPool: pool,
    logger,
    nodeId: null,
    authenticationTimeout: 1,
    allowAutoTopicCreation: false,
  })
  expect(broker.versions).toBeNull()
  expect(arity(broker, ['connect', 'apiVersions', 'isConnected'])).toEqual({connect: 0, apiVersions: 0, isConnected: 0})
})

test('has an encoder that keeps bytes as they are, and loggers with a creator', async () => {
  const {Encoder, loggers} = await loadKafkajs()
  const encoder = new Encoder(3)
  encoder.writeBufferInternal(Buffer.from('abc'))
  expect(Reflect.get(encoder, 'buffer')).toEqual(Buffer.from('abc'))
  expect(loggers.LEVELS).toMatchObject({NOTHING: 0, ERROR: 1, WARN: 2, INFO: 4, DEBUG: 5})
  const lines: string[] = []
  const made = loggers.createLogger({level: 5, logCreator: () => entry => lines.push(entry.log.message)})
  Reflect.apply(Reflect.get(made as object, 'debug') as () => void, made, ['seen'])
  expect(lines).toEqual(['seen'])
})
