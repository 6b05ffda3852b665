import {expect, test} from 'vitest'
import {assertLinear} from '../support/linear.ts'

function loop(rounds: number): number {
  let sum = 0
  for (let round = 0; round < rounds; round++) sum = (sum * 31 + round) | 0
  return sum
}

test('linear work passes, and work that has a constant part as well', async () => {
  await assertLinear(2_000_000, loop)
  await assertLinear(1000, size => loop(500_000 + size))
})

test('quadratic work does not', async () => {
  await expect(assertLinear(3000, size => loop(size * size))).rejects.toThrow(
    /^8 times the input takes [2-9]\d\.\d times the work/,
  )
})
