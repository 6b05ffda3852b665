import {expect, test} from 'vitest'
import {parseThrowable, rootCauseOf} from '../../../src/lib/dialects/root-cause.ts'

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
