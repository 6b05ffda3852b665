import {formatDuration} from '../render/time.ts'
import type {Blocker} from '../replay/ledger/wait-stable.ts'

/** What a person is told while somebody's open transaction holds up reading a ledger. */
export function waitText({ledger, transactionalId, producerId, waitMs}: Blocker): string {
  const who = transactionalId ?? (producerId === null ? 'somebody' : `producer ${producerId}`)
  return `waiting up to ${formatDuration(waitMs)} for an open transaction of ${who} in ${ledger}`
}
