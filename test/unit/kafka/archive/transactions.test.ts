import {expect, test} from 'vitest'
import {UsageError} from '../../../../src/lib/errors.ts'
import {openArchive} from '../../../../src/lib/kafka/archive/index.ts'
import {temporaryDirectory} from './archives.ts'

test('an archive has neither transactions nor anybody who holds one', async () => {
  await using archive = await openArchive(await temporaryDirectory())
  const options = {
    transactionalId: 'kdlq-r1',
    compression: 'none',
    deliveryTimeoutMs: 1_000,
    transactionTimeoutMs: 15_000,
  } as const
  const error: unknown = await archive.writer.openTransactional(options).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(UsageError)
  expect(error).toMatchObject({code: 'E_NO_TRANSACTIONS', exitCode: 2})
  expect(await archive.admin.activeProducers('orders-dlq', 0)).toEqual([])
  expect(await archive.admin.transactionsOf(1n)).toEqual([])
})
