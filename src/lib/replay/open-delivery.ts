import {withoutLedger} from './delivery.ts'
import type {Delivery} from './delivery.ts'
import type {RunDeps, RunInput} from './run-input.ts'
import {createIdempotentWriter} from './write-chunk.ts'

/**
 * Open the delivery of a run; null when it has nothing to write, neither to the target nor into a ledger.
 * @throws what opening it throws, before anything is sent
 */
export async function openDelivery(
  {target, openDelivery: open}: RunDeps,
  {plan, deliveryTimeoutMs}: RunInput,
  signal: AbortSignal | undefined,
): Promise<Delivery | null> {
  const {toReplay, held, parked} = plan.counts
  const writes = toReplay > 0 || parked > 0
  if (open !== undefined) return writes || held > 0 ? open({signal}) : null
  if (!writes) return null
  const options = {compression: plan.compression, transactionalId: null, deliveryTimeoutMs}
  return withoutLedger(createIdempotentWriter(await target.writer.open(options)))
}
