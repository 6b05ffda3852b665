import {describe, expect, test} from 'vitest'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import {createGrouper} from '../../../src/lib/dead-letter/group.ts'
import type {GroupKey} from '../../../src/lib/dead-letter/group-keys.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import {createStatistics} from '../../../src/lib/dead-letter/statistics.ts'
import {hasConsistentOrigin, headerStripper, originalTimestamp} from '../../../src/lib/dialects/restore.ts'
import type {KafkaRecord} from '../../../src/lib/kafka/record.ts'
import {CONNECT_TOPICS, connectExpected, connectRecords} from '../../support/connect-fixtures.ts'
import type {ConnectTopic} from '../../support/connect-fixtures.ts'

const RECORDS = new Map<ConnectTopic, readonly KafkaRecord[]>()
for (const topic of CONNECT_TOPICS) RECORDS.set(topic, await connectRecords(topic))

function deadLetters(topic: ConnectTopic): DeadLetter[] {
  return (RECORDS.get(topic) ?? []).map(record => createDeadLetter(record))
}

/** Counts by one word, without the group of those that do not say. */
function countsBy(letters: readonly DeadLetter[], word: GroupKey): Record<string, number> {
  const grouper = createGrouper([word])
  for (const letter of letters) grouper.add(letter)
  const known = grouper.report().groups.filter(({by}) => by[word] !== null)
  return Object.fromEntries(known.map(({by, count}) => [String(by[word]), count]))
}

describe.each(CONNECT_TOPICS)('%s, written by a real Connect worker', topic => {
  const letters = deadLetters(topic)
  const expected = connectExpected(topic)

  test.each([
    ['stage', 'byStage'],
    ['exception', 'byException'],
    ['class', 'byException'],
    ['connector', 'byConnector'],
    ['component', 'byClass'],
    ['last', 'byOrigin'],
    ['partition', 'byPartition'],
  ] as const)('groups by %s as counted', (word, counts) => {
    expect(countsBy(letters, word)).toEqual(expected[counts])
  })

  test('tells records without any context, without an exception, without a message and without key or value', () => {
    const count = (matches: (letter: DeadLetter) => boolean): number => letters.filter(matches).length
    const described = ({failure}: DeadLetter): boolean => failure.dialect === 'connect'
    expect(letters).toHaveLength(expected.records)
    expect(count(({failure}) => failure.dialect === 'none')).toBe(expected.withoutContextHeaders)
    expect(count(letter => described(letter) && letter.failure.exception === undefined)).toBe(
      expected.withoutExceptionHeaders,
    )
    expect(count(({failure}) => failure.exception !== undefined && failure.exception.message === undefined)).toBe(
      expected.nullExceptionMessage,
    )
    expect(count(({record}) => record.key === null)).toBe(expected.nullKeys)
    expect(count(({record}) => record.value === null)).toBe(expected.nullValues)
  })

  test('finds the newest coordinates that occur more than once', () => {
    const counts: Record<string, number> = {}
    for (const {failure} of letters) {
      const at = failure.last ?? failure.origin
      if (at === undefined) continue
      const place = `${at.topic ?? ''}-${at.partition ?? ''}@${at.offset ?? ''}`
      counts[place] = (counts[place] ?? 0) + 1
    }
    expect(Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 1))).toEqual(
      expected.repeatedOrigins,
    )
  })

  test('gives every described failure a fingerprint, and none to the others', () => {
    for (const {failure, fingerprint} of letters) expect(fingerprint === null).toBe(failure.dialect === 'none')
  })

  test('leaves no context header behind, and drops nothing else', () => {
    for (const {failure, record} of letters) {
      const strips = headerStripper(record, failure)
      const dropped = record.headers.filter(({name}, index) => strips(name, index))
      expect(dropped).toEqual(record.headers.filter(({name}) => name.toString().startsWith('__connect.errors.')))
    }
  })
})

test('counts the sets of a record that failed twice, and keeps the first origin', () => {
  const letters = deadLetters('orders-dlq-parked')
  expect(countsBy(letters, 'origin-topic')).toEqual({orders: 25})
  expect(countsBy(letters, 'connector')).toEqual({'orders-dlq-replayer': 25})
  expect(letters.map(({failure}) => failure.hops)).toEqual(Array.from({length: 25}, () => 2))
})

test('knows the seven records whose own header took the name of a context header', () => {
  const letters = deadLetters('customers.deadletter')
  const doubtful = letters.filter(({failure}) => !hasConsistentOrigin(failure))
  expect(doubtful).toHaveLength(7)
  expect(doubtful.map(({failure}) => failure.last?.topic)).toEqual(Array.from({length: 7}, () => 'customer-profiles'))
})

test('has lost the original time where the broker set its own', () => {
  for (const {record, failure} of deadLetters('customers.deadletter')) {
    expect(originalTimestamp(record, failure)).toBeNull()
  }
  for (const {record, failure} of deadLetters('payments-dlq')) {
    expect(originalTimestamp(record, failure)).toBe(record.timestamp)
  }
})

describe('fingerprints', () => {
  const groups = (topic: ConnectTopic): {count: number; messages: Set<string | undefined>; kind: string}[] => {
    const byId = new Map<string, {count: number; messages: Set<string | undefined>; kind: string}>()
    for (const {failure, fingerprint} of deadLetters(topic)) {
      const kind = `${failure.stage ?? ''} ${failure.exception?.class ?? ''} ${failure.exception?.cause ?? ''}`
      const group = byId.get(fingerprint ?? '') ?? {count: 0, messages: new Set(), kind}
      expect(group.kind).toBe(kind)
      group.count++
      group.messages.add(failure.exception?.message)
      byId.set(fingerprint ?? '', group)
    }
    return [...byId.values()]
  }
  const withMessage = (topic: ConnectTopic, part: string): {count: number; different: number}[] =>
    groups(topic)
      .filter(({messages}) => [...messages].some(message => message?.includes(part) === true))
      .map(({count, messages}) => ({count, different: messages.size}))

  test.each([
    ['orders-dlq', 'note cannot be stored', 24, 13],
    ['orders-dlq', 'quantity must be positive', 12, 5],
    ['orders-dlq', 'out of range for requested data type', 12, 4],
    ['orders-dlq', 'Could not parse timestamp', 12, 4],
    ['orders-dlq', 'Write to table orders failed', 12, 1],
    ['payments-dlq', 'negative amount', 8, 8],
    ['payments-dlq', 'Expiring', 8, 1],
    ['dlq.inventory', 'out of bounds for length', 6, 6],
    ['shipments-dlq', 'is unknown', 6, 6],
    ['invoices-dlq', 'out of range', 4, 1],
  ] as const)('in %s make one group of "%s"', (topic, part, count, different) => {
    expect(withMessage(topic, part)).toEqual([{count, different}])
  })

  test('tell apart what differs: message family, cause, stage and place in the application', () => {
    expect(groups('shipments-dlq')).toHaveLength(4)
    expect(groups('dlq.inventory').filter(({kind}) => kind.startsWith('TRANSFORMATION'))).toHaveLength(6)
    const kinds = new Set(CONNECT_TOPICS.flatMap(topic => deadLetters(topic).map(({fingerprint}) => fingerprint)))
    expect(kinds.size).toBeGreaterThan(40)
  })

  test('stay the same from release to release', () => {
    // sha256 of kdlq-2, invoices, TRANSFORMATION, java.lang.NumberFormatException, For input string, and no frame, with NUL between.
    const ids = new Set(deadLetters('invoices-dlq').map(({fingerprint}) => fingerprint))
    expect([...ids]).toEqual(['f-f5e9b5a7'])
  })
})

test('[BR-05] tells payload bytes from header bytes', () => {
  const statistics = createStatistics({by: ['stage']})
  const letters = deadLetters('shipments-dlq')
  for (const letter of letters) statistics.add(letter)
  const {bytes} = statistics.report()
  const values = letters.reduce((sum, {record}) => sum + (record.value?.length ?? 0), 0)
  expect(bytes.value).toBe(values)
  expect(bytes.headers).toBeGreaterThan(10 * values)
})
