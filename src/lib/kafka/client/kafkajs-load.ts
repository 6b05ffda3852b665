/** The parts of kafkajs, loaded when the first connection is made and not before. */
import type {DebugLog} from './kafkajs-deps.ts'

/** What the transport takes of kafkajs. */
export type Kafkajs = Awaited<ReturnType<typeof loadKafkajs>>

/** Load the network layer of kafkajs 2.2.4; its producer, consumer and admin client are never loaded. */
export async function loadKafkajs() {
  const [broker, pool, connection, encoder, loggers] = await Promise.all([
    import('kafkajs/src/broker/index.js'),
    import('kafkajs/src/network/connectionPool.js'),
    import('kafkajs/src/network/connection.js'),
    import('kafkajs/src/protocol/encoder.js'),
    import('kafkajs/src/loggers/index.js'),
  ])
  return {
    Broker: broker.default,
    ConnectionPool: pool.default,
    Connection: connection.default,
    Encoder: encoder.default,
    loggers: loggers.default,
  }
}

/** A kafkajs logger that reaches neither stdout nor stderr, whatever KAFKAJS_LOG_LEVEL says. */
export function createKafkajsLogger({loggers}: Pick<Kafkajs, 'loggers'>, debug: DebugLog | null): unknown {
  return loggers.createLogger({
    level: debug === null ? loggers.LEVELS.NOTHING : loggers.LEVELS.DEBUG,
    logCreator:
      () =>
      ({namespace, label, log}) =>
        debug?.(`${label} ${namespace} ${log.message}`),
  })
}
