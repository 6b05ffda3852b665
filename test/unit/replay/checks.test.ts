import {describe, expect, test} from 'vitest'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {parseCheckDecisions} from '../../../src/lib/replay/check-names.ts'
import {CheckTally} from '../../../src/lib/replay/check-tally.ts'
import {CHECKS} from '../../../src/lib/replay/checks.ts'
import type {CheckDefinition, CheckSubject} from '../../../src/lib/replay/checks.ts'
import type {TargetFacts} from '../../../src/lib/replay/target.ts'
import {checkSubject, deadLetter, header} from './support.ts'

const FACTS: TargetFacts = {
  topic: 'orders',
  topicId: null,
  partitions: 6,
  maxMessageBytes: null,
  retentionMs: null,
  cleanupPolicy: null,
  timestampType: null,
  timestampBeforeMaxMs: null,
  timestampAfterMaxMs: null,
  configError: null,
}

const subject = (failure: Failure, over: Partial<CheckSubject> = {}): CheckSubject =>
  checkSubject(failure, {facts: FACTS, ...over})

const found = (given: CheckSubject): string[] =>
  CHECKS.filter(({find}) => (find?.(given) ?? null) !== null).map(({id}) => id)

describe('CHECKS', () => {
  test('ids are unique, and each says what it inspects and what to do', () => {
    expect(new Set(CHECKS.map(({id}) => id)).size).toBe(CHECKS.length)
    for (const {inspects, hint} of CHECKS) expect(inspects.length * hint.length).toBeGreaterThan(0)
  })

  test('an ordinary dead letter passes all of them', () => {
    expect(found(subject({dialect: 'connect', origin: {topic: 'orders', partition: 3, offset: '1'}}))).toEqual([])
  })

  test('a pointer is a pointer and no tombstone; it can be skipped, never allowed', () => {
    const pointer = subject(
      {dialect: 'share-group', payload: 'absent'},
      {record: deadLetter(0, {key: null, value: null})},
    )
    expect(found(pointer)).toEqual(['pointer'])
    expect(() => parseCheckDecisions(['pointer'], [])).toThrow('check pointer cannot be allowed')
    expect(new CheckTally(parseCheckDecisions([], ['pointer'])).judge(pointer, 'a:0:0')).toBe('skip')
    expect(new CheckTally(parseCheckDecisions([], [])).judge(pointer, 'a:0:0')).toBe('refuse')
  })

  test('a lost value refuses unless it can be restored', () => {
    const lost: Failure = {dialect: 'spring-dlt', warnings: ['value_lost']}
    expect(found(subject(lost))).toEqual(['value-lost'])
    expect(found(subject({...lost, rawValue: '00'}))).toEqual([])
  })

  test('[BR-11] a null value that failed to deserialize is lost, not a tombstone', () => {
    const record = deadLetter(0, {value: null})
    expect(found(subject({dialect: 'spring-dlt', stage: 'deserialize-value'}, {record}))).toEqual(['value-lost'])
    expect(found(subject({dialect: 'spring-dlt'}, {record}))).toEqual(['tombstone'])
    expect(found(subject({dialect: 'spring-dlt', rawValue: '00'}, {record}))).toEqual([])
  })

  test('a null value inside an envelope is a tombstone too', () => {
    expect(found(subject({dialect: 'aws-lambda', payload: 'envelope'}))).toEqual(['tombstone'])
    expect(found(subject({dialect: 'aws-lambda', payload: 'envelope', rawValue: '00'}))).toEqual([])
  })

  test.each([
    ['x-retries', 'none', true],
    ['retry_topic-attempts', 'spring-retry', true],
    ['retry_topic-attempts', 'connect', false],
    ['traceparent', 'spring-retry', false],
  ])('%s that goes out with a failure of %s is said: %s', (name, dialect, said) => {
    const given = subject({dialect, origin: {topic: 'orders'}}, {sentHeaders: () => [header(name, '1')]})
    expect(found(given)).toEqual(said ? ['loop-headers'] : [])
  })

  test('the list is open: one more entry is one more result', () => {
    const odd: CheckDefinition = {
      id: 'odd-offset',
      level: 'warn',
      allowable: true,
      inspects: 'odd offsets',
      hint: 'none',
      find: ({record}) => (record.offset % 2n === 1n ? 'odd' : null),
    }
    const tally = new CheckTally(parseCheckDecisions([], []), [...CHECKS, odd])
    expect(tally.judge(subject({dialect: 'none'}, {record: deadLetter(1)}), 'a:0:1')).toBe('send')
    expect(tally.results().at(-1)).toEqual({
      id: 'odd-offset',
      level: 'warn',
      count: 1,
      detail: 'odd',
      addresses: ['a:0:1'],
    })
  })

  test('what another check leaves out does not refuse, and is told as skipped', () => {
    const tally = new CheckTally(parseCheckDecisions([], ['tombstone']))
    const both = subject(
      {dialect: 'none'},
      {record: deadLetter(0, {value: null}), destination: {kind: 'no-origin'}, facts: null},
    )
    expect(tally.judge(both, 'a:0:0')).toBe('skip')
    expect(
      tally
        .results()
        .filter(({count}) => count > 0)
        .map(({id, level}) => [id, level]),
    ).toEqual([
      ['no-origin', 'skipped'],
      ['tombstone', 'skipped'],
    ])
  })

  test('records that refuse stand in front of those that were only found', () => {
    const tally = new CheckTally(parseCheckDecisions([], ['tombstone']))
    const lost = {destination: {kind: 'no-origin'}, facts: null} as const
    tally.judge(subject({dialect: 'none'}, {...lost, record: deadLetter(0, {value: null})}), 'a:0:0')
    tally.judge(subject({dialect: 'none'}, lost), 'a:0:1')
    expect(tally.results().find(({id}) => id === 'no-origin')).toMatchObject({
      level: 'refuse',
      count: 2,
      addresses: ['a:0:1'],
    })
  })
})
