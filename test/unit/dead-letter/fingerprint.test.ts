import {expect, test} from 'vitest'
import {failureKind, fingerprint} from '../../../src/lib/dead-letter/fingerprint.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'

const record = {key: null, value: Buffer.from('{"note":"hello"}')}
const failed = (exception: Failure['exception'], other: Partial<Failure> = {}): Failure => ({
  dialect: 'connect',
  stage: 'TASK_PUT',
  ...(exception === undefined ? {} : {exception}),
  ...other,
})

test('is null when nothing is known, and not null for a stage alone', () => {
  expect(fingerprint({dialect: 'none'}, record)).toBeNull()
  expect(fingerprint({dialect: 'connect', origin: {topic: 'orders'}}, record)).toBeNull()
  expect(fingerprint(failed(undefined), record)).toMatch(/^f-[0-9a-f]{8}$/)
})

test('does not depend on family, coordinates, connector, values and line numbers', () => {
  const stack = (line: number): string => `a.B: 7\n\tat com.acme.C.d(C.java:${line})`
  const one = failed({class: 'a.B', message: 'order 7 is bad', stack: stack(1)}, {connector: 'a', origin: {topic: 'x'}})
  const other = failed({class: 'a.B', message: 'order 8 is bad', stack: stack(2)}, {dialect: 'x', connector: 'b'})
  expect(fingerprint(one, record)).toBe(fingerprint(other, {key: null, value: null}))
})

test('depends on stage, class, message and the place in the application', () => {
  const base = {class: 'a.B', message: 'bad', stack: 'a.B: bad\n\tat com.acme.C.d(C.java:1)'}
  const ids = [
    failed(base),
    failed(base, {stage: 'TRANSFORMATION'}),
    failed({...base, class: 'a.C'}),
    failed({...base, message: 'good'}),
    failed({...base, stack: 'a.B: bad\n\tat com.acme.C.e(C.java:1)'}),
    failed({class: 'a.B', stack: base.stack}),
  ].map(failure => fingerprint(failure, record))
  expect(new Set(ids).size).toBe(ids.length)
})

test('[BR-03] takes the root cause, not the wrapper, by header or by trace', () => {
  const stack = 'w.Wrapper: w\nCaused by: m.Middle: m\nCaused by: java.net.SocketTimeoutException: Read timed out'
  const byTrace = failureKind(failed({class: 'w.Wrapper', message: 'w', stack}), record)
  expect(byTrace).toMatchObject({class: 'java.net.SocketTimeoutException', message: 'Read timed out'})
  const byHeader = failed({class: 'w.Other', cause: 'java.net.SocketTimeoutException', causeMessage: 'Read timed out'})
  expect(fingerprint(byHeader, record)).toBe(fingerprint(failed({class: 'w.Wrapper', stack}), record))
})

test('unwraps a wrapper whose message is the text of its cause', () => {
  const message = 'java.util.concurrent.ExecutionException: java.io.IOException: disk full'
  expect(failureKind(failed({class: 'w.Wrapper', message}), record)).toMatchObject({
    class: 'java.io.IOException',
    message: 'disk full',
  })
  expect(failureKind(failed({class: 'w.Wrapper', message: 'Note: full'}), record).class).toBe('w.Wrapper')
})

test('[BR-15] is made of class and stage when there is no message', () => {
  expect(failureKind(failed({class: 'java.lang.NullPointerException'}), record)).toEqual({
    stage: 'TASK_PUT',
    class: 'java.lang.NullPointerException',
    message: '',
    frame: null,
  })
})

test('looks for the application from the cause outwards, never in suppressed exceptions', () => {
  const stack = [
    'a.B: x',
    '\tat com.acme.Outer.run(Outer.java:1)',
    '\tSuppressed: s.T',
    '\t\tat com.acme.Wrong.run(Wrong.java:1)',
    'Caused by: c.D: y',
    '\tat java.base/java.util.List.get(List.java:1)',
    '\t... 3 more',
  ].join('\n')
  expect(failureKind(failed({class: 'a.B', stack}), record).frame).toBe('com.acme.Outer.run')
})

test('counts a converter of Connect as the deserialisation that other families name', () => {
  const exception = {class: 'a.B', message: 'bad'}
  expect(fingerprint(failed(exception, {stage: 'VALUE_CONVERTER'}), record)).toBe(
    fingerprint(failed(exception, {stage: 'deserialize-value', dialect: 'spring-dlt'}), record),
  )
})

test('masks text that comes from the record', () => {
  const kind = failureKind(failed({class: 'a.B', message: 'cannot store: hello'}), record)
  expect(kind.message).toBe('cannot store')
})
