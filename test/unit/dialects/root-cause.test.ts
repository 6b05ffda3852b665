import {describe, expect, test} from 'vitest'
import {causeMessageOf, headlineOf, parseThrowable, rootCauseOf} from '../../../src/lib/dialects/root-cause.ts'

test('[BR-03] takes the last cause of several', () => {
  const stack =
    'a.B: x\n\tat p.Q(Q.java:1)\nCaused by: c.D: mid\n\t... 3 more\nCaused by: java.net.UnknownHostException: sr\n'
  expect(rootCauseOf(stack)).toEqual({class: 'java.net.UnknownHostException', message: 'sr'})
})

test('does not count causes of suppressed exceptions, which are indented', () => {
  const stack =
    'a.B: x\n\tat p.Q(Q.java:1)\n\tSuppressed: s.S: no\n\tCaused by: s.Wrong: no\nCaused by: c.Right\n\tat p.Q(Q.java:2)\n\tSuppressed: t.T\n\t\tCaused by: t.Wrong\n'
  expect(rootCauseOf(stack)).toEqual({class: 'c.Right', message: null})
})

test.each([
  ['E: x\r\n\tat A\r\nCaused by: q.R: y\r\n', {class: 'q.R', message: 'y'}],
  ['Caused by: q.R', {class: 'q.R', message: null}],
  ['x\nCaused by: q.R:\n', {class: 'q.R', message: ''}],
  ['x\nCaused by: a.B\nCaused by: [CIRCULAR REFERENCE: a.B]\n', {class: 'a.B', message: null}],
  ['x\nCaused by: a.B$C: m: n\nCaused by: the operator, not the program\n', {class: 'a.B$C', message: 'm: n'}],
])('reads the cause of %j', (stack, cause) => {
  expect(rootCauseOf(stack)).toEqual(cause)
})

test.each([
  '',
  'java.lang.X: no cause',
  ' Caused by: a.B',
  'text Caused by: a.B',
  'x\nCaused by: \n',
  'x\ncaused by: a.B',
])('finds no cause in %j', stack => {
  expect(rootCauseOf(stack)).toBeUndefined()
})

test('takes a throwable apart and leaves prose alone', () => {
  expect(parseThrowable('java.lang.X: a: b')).toEqual({class: 'java.lang.X', message: 'a: b'})
  expect(parseThrowable('java.lang.X')).toEqual({class: 'java.lang.X', message: null})
  expect(parseThrowable('Hello world: x')).toBeUndefined()
  expect(parseThrowable('')).toBeUndefined()
})

describe('the headline of a failure', () => {
  const outer = {class: 'o.DataException', message: 'Converting byte[] failed: '}
  const stack =
    'o.DataException: Converting byte[] failed: \nCaused by: s.Mid: m\nCaused by: j.Parse: bad token\n at [x]\n'

  test('is the root cause with its own message', () => {
    expect(headlineOf({...outer, stack, cause: 'j.Parse'})).toEqual({class: 'j.Parse', message: 'bad token'})
  })

  test('prefers the message that a header gives for the cause', () => {
    const exception = {...outer, stack, cause: 'j.Parse', causeMessage: 'by header'}
    expect(headlineOf(exception)).toEqual({class: 'j.Parse', message: 'by header'})
  })

  test('never joins a cause with the message of another class', () => {
    const exception = {...outer, stack, cause: 'h.FromHeader'}
    expect(causeMessageOf(exception)).toBeUndefined()
    expect(headlineOf(exception)).toEqual({class: 'h.FromHeader', message: outer.message})
  })

  test.each(['Caused by: j.Npe\n', 'Caused by: j.Npe: \n'])('lets the exception speak for a silent cause: %j', text => {
    expect(headlineOf({...outer, stack: `x\n${text}`, cause: 'j.Npe'})).toEqual({
      class: 'j.Npe',
      message: outer.message,
    })
  })

  test('is the exception itself without a cause, and nothing without an exception', () => {
    expect(headlineOf({...outer, stack: 'o.DataException: x\n'})).toEqual(outer)
    expect(headlineOf(undefined)).toEqual({class: null, message: null})
  })
})
