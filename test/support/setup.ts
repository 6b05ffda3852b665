/** Runs before every test file of the unit project. */
import fc from 'fast-check'
import {expect} from 'vitest'
import {runs} from './runs.ts'

fc.configureGlobal({numRuns: runs(100)})

// The runner compares bytes one by one, each as a property: seconds for a value of 1 MiB.
expect.addEqualityTesters([
  (one: unknown, other: unknown): boolean | undefined =>
    Buffer.isBuffer(one) && Buffer.isBuffer(other) ? one.equals(other) : undefined,
])
