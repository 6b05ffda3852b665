import {expect, test} from 'vitest'
import {ProducerIdentity} from '../../../../../src/lib/kafka/client/producer-identity.ts'

test('sequences begin at 0 again behind the largest int32', () => {
  const identity = new ProducerIdentity(1n, 0)
  identity.written('t:0', 2_147_483_647)
  expect(identity.next('t:0')).toBe(2_147_483_647)
  identity.written('t:0', 3)
  expect(identity.next('t:0')).toBe(2)
  expect(identity.next('t:1')).toBe(0)
})
