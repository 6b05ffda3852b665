import {expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {failureKind, kindId} from '../../../src/lib/dead-letter/fingerprint.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {corpusLetters} from '../../support/corpus.ts'

const letters = async (name: 'spring-kafka-3.3.10' | 'spring-kafka-4.1.2'): Promise<readonly DeadLetter[]> =>
  (await corpusLetters(name)).map(({record}) => createDeadLetter(record))

const kindOf = ({failure, record}: DeadLetter): string | null => kindId(failureKind(failure, record))

test('two releases of a framework give the same kinds of the same application', async () => {
  const old = new Set((await letters('spring-kafka-3.3.10')).map(kindOf))
  const recent = new Set((await letters('spring-kafka-4.1.2')).map(kindOf))
  expect(old.size).toBeGreaterThan(10)
  expect([...old].filter(kind => !recent.has(kind))).toEqual([])
})

test('a failure has one kind whether it was parked at once or went through retry topics', async () => {
  const kinds = new Map<string | null, Set<string>>()
  for (const letter of await letters('spring-kafka-4.1.2')) {
    if (letter.failure.exception?.cause !== 'java.lang.ClassCastException') continue
    const dialects = kinds.get(kindOf(letter)) ?? new Set()
    kinds.set(kindOf(letter), dialects.add(letter.failure.dialect))
  }
  expect([...kinds.values()].map(dialects => [...dialects].toSorted())).toEqual([['spring-dlt', 'spring-retry']])
})
