/** `npm run vectors -- dialects FILE...`: runs vector files over the code, prints every difference and the totals. */
import {readFile} from 'node:fs/promises'
import {parseVectors, runVector, vectorDifferences} from '../test/support/dialect-vectors.ts'
import type {DialectVector} from '../test/support/dialect-vectors.ts'

const [kind, ...files] = process.argv.slice(2)
if (kind !== 'dialects' || files.length === 0) {
  console.error('usage: npm run vectors -- dialects FILE...')
  process.exitCode = 2
} else {
  let passed = 0
  let failed = 0
  for (const file of files) {
    for (const vector of parseVectors(await readFile(file, 'utf8'))) {
      const differences = differencesOf(vector)
      if (differences.length === 0) {
        passed++
        continue
      }
      failed++
      console.log(`${vector.id}${vector.note === undefined ? '' : ` ${vector.note}`}`)
      for (const difference of differences) console.log(`  ${difference}`)
    }
  }
  console.log(`${passed} passed, ${failed} failed`)
  if (failed > 0 || passed === 0) process.exitCode = 1
}

/** A vector that throws has failed; the others still run. */
function differencesOf(vector: DialectVector): string[] {
  try {
    return vectorDifferences(vector, runVector(vector))
  } catch (error) {
    return [`threw: ${String(error)}`]
  }
}
