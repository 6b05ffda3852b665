import type {Dialect} from '../dialect.ts'
import {FamilyReader} from './family-reader.ts'
import {hasPrefix, headerName} from '../primitives.ts'

const PREFIX = 'KDLQ_'
const PREFIX_BYTES = headerName(PREFIX)

/** Dead letters of the library KDLQ, which only shares its name with this tool. It does not say the original topic. */
export const kdlq: Dialect = {
  id: 'kdlq',
  stages: [],
  keepsTimestamp: false,
  strips: name => hasPrefix(name, PREFIX_BYTES),
  read: (_record, headers) => {
    if (!headers.has(`${PREFIX}Kills`) && !headers.has(`${PREFIX}Redelivered`)) return null
    const reader = new FamilyReader(headers, 'binary')
    Object.assign(
      reader.failure,
      reader.hops({partition: `${PREFIX}OrigPartition`, offset: `${PREFIX}OrigOffset`, timestamp: `${PREFIX}OrigTs`}),
    )
    reader.set('kills', reader.int32(`${PREFIX}Kills`))
    reader.set('redelivered', reader.int32(`${PREFIX}Redelivered`))
    reader.set('component', reader.text(`${PREFIX}PrcMarker`))
    return reader.finish(headers.lastIndexOfPrefix(PREFIX))
  },
}
