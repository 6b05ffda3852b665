import type {Dialect} from '../dialect.ts'
import {decodeBase64} from '../base64.ts'
import {FamilyReader} from './family-reader.ts'
import {hasPrefix, headerName, lenientUtf8} from '../primitives.ts'

const PREFIX = 'ce_knativeerror'
const PREFIX_BYTES = headerName(PREFIX)

/** Dead letters of a Knative Eventing broker on Kafka: CloudEvents with three more attributes, no coordinates. */
export const knative: Dialect = {
  id: 'knative',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: (_record, headers) => {
    if (!headers.has(`${PREFIX}dest`)) return null
    const reader = new FamilyReader(headers)
    reader.set('component', reader.text(`${PREFIX}dest`))
    const exception = reader.exception({message: `${PREFIX}data`, code: `${PREFIX}code`})
    if (exception?.message !== undefined) {
      const data = decodeBase64(exception.message)
      if (data !== null) exception.message = lenientUtf8(data)
    }
    reader.set('exception', exception)
    return reader.finish(headers.lastIndexOfPrefix(PREFIX))
  },
}
