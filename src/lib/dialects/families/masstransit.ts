import type {Dialect} from '../dialect.ts'
import {FamilyReader} from './family-reader.ts'
import {hasPrefix, headerName, readTopic} from '../primitives.ts'

const FAULT = 'MT-Fault-'
const FAULT_BYTES = headerName(FAULT)
const HOST_BYTES = headerName('MT-Host-')
const REASON = headerName('MT-Reason')

/** Fault headers of MassTransit (.NET). Its Kafka rider writes none: they reach Kafka through bridges. */
export const masstransit: Dialect = {
  id: 'masstransit',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, FAULT_BYTES) || hasPrefix(name, HOST_BYTES) || name.equals(REASON),
  read: (_record, headers) => {
    if (!headers.has(`${FAULT}ExceptionType`) && !headers.has(`${FAULT}Message`)) return null
    const reader = new FamilyReader(headers)
    const address = reader.text(`${FAULT}InputAddress`)
    const name = address === undefined ? undefined : topicOf(address)
    const topic = name === undefined ? undefined : readTopic(Buffer.from(name), reader.warn)
    if (topic !== undefined) reader.set('origin', {topic})
    reader.set(
      'exception',
      reader.exception({class: `${FAULT}ExceptionType`, message: `${FAULT}Message`, stack: `${FAULT}StackTrace`}),
    )
    reader.set('component', reader.text(`${FAULT}ConsumerType`))
    reader.set('failedAtText', reader.text(`${FAULT}Timestamp`))
    const retries = reader.int32(`${FAULT}RetryCount`)
    if (retries !== undefined) reader.set('attempts', retries + 1)
    return reader.finish(Math.max(headers.lastIndexOfPrefix(FAULT), headers.lastIndexOfPrefix('MT-Host-')))
  },
}

/** Topic in an endpoint address of Kafka: `kafka://HOST/TOPIC`, or `.../kafka/TOPIC` of the rider; else undefined. */
function topicOf(address: string): string | undefined {
  const query = address.indexOf('?')
  const path = query === -1 ? address : address.slice(0, query)
  const slash = path.lastIndexOf('/')
  const isTopic = path.startsWith('kafka://') ? slash >= 'kafka://'.length : path.slice(0, slash).endsWith('/kafka')
  return isTopic ? path.slice(slash + 1) : undefined
}
