import {describe, expect, test} from 'vitest'
import {createJudge} from '../../../src/lib/dead-letter/verdict.ts'
import {type Verdict, VERDICT_RULES, type VerdictRule, VERDICTS} from '../../../src/lib/dead-letter/verdict-rules.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'

const letter = (failure: Partial<Failure>, fingerprint: string | null = null) => ({
  failure: {dialect: 'connect', ...failure},
  fingerprint,
})
const verdict = (failure: Partial<Failure>, own: readonly VerdictRule[] = []): Verdict | null =>
  createJudge(own)(letter(failure))?.verdict ?? null

test.each([
  ['java.net.SocketTimeoutException', 'transient'],
  ['java.net.ConnectException', 'transient'],
  ['org.apache.kafka.common.errors.TimeoutException', 'transient'],
  ['System.TimeoutException', 'transient'],
  ['PG::ConnectionBad', 'transient'],
  ['psycopg2.OperationalError', 'transient'],
  ['org.springframework.dao.CannotAcquireLockException', 'transient'],
  ['com.fasterxml.jackson.core.JsonParseException', 'never'],
  ['json.decoder.JSONDecodeError', 'never'],
  ['com.google.protobuf.InvalidProtocolBufferException$InvalidWireTypeException', 'never'],
  ['java.lang.NullPointerException', 'needs-fix'],
  ['TypeError', 'needs-fix'],
  ['org.apache.kafka.common.errors.TopicAuthorizationException', 'needs-fix'],
  ['org.apache.kafka.common.errors.RecordTooLargeException', 'needs-fix'],
  ['org.apache.kafka.connect.errors.DataException', 'needs-fix'],
  ['com.acme.OwnException', null],
] as const)('%s is %s', (name, expected) => {
  expect(verdict({exception: {class: name}})).toBe(expected)
})

test('the message speaks where the class does not', () => {
  expect(verdict({exception: {class: 'java.lang.RuntimeException', message: 'Connection refused by db'}})).toBe(
    'transient',
  )
  expect(verdict({exception: {class: 'java.lang.RuntimeException', message: 'deadlock detected'}})).toBe('transient')
  expect(verdict({exception: {class: 'java.sql.SQLException', message: 'duplicate key value'}})).toBe('needs-fix')
  expect(verdict({exception: {message: 'context deadline exceeded'}})).toBe('transient')
})

test('the root cause counts before the exception around it', () => {
  const exception = {class: 'org.apache.kafka.connect.errors.DataException', cause: 'java.net.ConnectException'}
  expect(verdict({exception})).toBe('transient')
  expect(verdict({exception: {class: 'a.RetriableException', cause: 'com.acme.OwnException'}})).toBe('transient')
})

test('bytes that end too early are lost where bytes are read, not where a connection ends', () => {
  const exception = {class: 'java.io.EOFException'}
  expect(verdict({stage: 'VALUE_CONVERTER', exception})).toBe('never')
  expect(verdict({stage: 'TASK_PUT', exception})).toBeNull()
})

test('a stage decides when nothing else does', () => {
  expect(verdict({stage: 'TRANSFORMATION', exception: {class: 'a.B'}})).toBe('needs-fix')
  expect(verdict({stage: 'TASK_PUT', exception: {class: 'a.B'}})).toBeNull()
  expect(verdict({})).toBeNull()
})

describe('own rules', () => {
  test('go first, in their order, and all their conditions have to fit', () => {
    const own: VerdictRule[] = [
      {verdict: 'never', reason: 'a', exceptions: ['SocketTimeoutException'], stages: ['TASK_PUT']},
      {verdict: 'needs-fix', reason: 'b', exceptions: ['com.acme.*'], messages: [text => text.startsWith('no ')]},
      {verdict: 'transient', reason: 'c', fingerprints: ['f-00000001']},
    ]
    const timeout = {class: 'java.net.SocketTimeoutException'}
    expect(verdict({stage: 'TASK_PUT', exception: timeout}, own)).toBe('never')
    expect(verdict({stage: 'TASK_POLL', exception: timeout}, own)).toBe('transient')
    expect(verdict({exception: {class: 'com.acme.X', message: 'no stock'}}, own)).toBe('needs-fix')
    expect(verdict({exception: {class: 'com.acme.X', message: 'stock'}}, own)).toBeNull()
    expect(createJudge(own)(letter({exception: {class: 'q.Q'}}, 'f-00000001'))).toEqual({
      verdict: 'transient',
      reason: 'c',
    })
    expect(createJudge(own)(letter({exception: {class: 'q.Q'}}, 'f-00000002'))).toBeNull()
  })
})

test('every built-in rule has a verdict, a reason in one line and a condition', () => {
  for (const rule of VERDICT_RULES) {
    expect(VERDICTS).toContain(rule.verdict)
    expect(rule.reason).toMatch(/^[^\n]{10,100}$/)
    expect([rule.exceptions, rule.stages, rule.messages].some(list => list !== undefined && list.length > 0)).toBe(true)
  }
})

test('a long message is looked at as far as its beginning', () => {
  const message = `${'x'.repeat(5000)} connection refused`
  expect(verdict({exception: {class: 'a.B', message}})).toBeNull()
})
