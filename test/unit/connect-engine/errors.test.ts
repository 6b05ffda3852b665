import assert from 'node:assert'
import {describe, expect, test} from 'vitest'
import {
  classNameOf,
  ConnectException,
  DataException,
  ExecutionException,
  familyOfClass,
  isConnectRetriable,
  isJavaError,
  JavaException,
  messageOf,
  RetriableException,
  toError,
  UnsupportedOperationException,
} from '../../../src/lib/connect-engine/errors.ts'
import {stackTraceOf} from '../../../src/lib/connect-engine/stack-trace.ts'
import {BugError, InterruptedError, KafkaError} from '../../../src/lib/errors.ts'

class ThrottledException extends RetriableException {
  override readonly className = 'com.example.Throttled$Exception'
}

class PlainError extends Error {}

function thrownBy(run: () => void): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const failedAssertion = thrownBy(() => {
  assert.ok(false)
})
const abort = thrownBy(() => {
  AbortSignal.abort().throwIfAborted()
})

test.each([
  [new ConnectException('m'), 'org.apache.kafka.connect.errors.ConnectException', 'exception', 'E_CONNECT', false],
  [new RetriableException('m'), 'org.apache.kafka.connect.errors.RetriableException', 'retriable', 'E_CONNECT', true],
  [new DataException('m'), 'org.apache.kafka.connect.errors.DataException', 'exception', 'E_CONNECT', false],
  [new ThrottledException('m'), 'com.example.Throttled$Exception', 'retriable', 'E_CONNECT', true],
  [new JavaException({className: 'a.B', message: 'm'}), 'a.B', 'exception', 'E_EXCEPTION', false],
  [new ExecutionException('m'), 'java.util.concurrent.ExecutionException', 'exception', 'E_EXECUTION', false],
  [
    new UnsupportedOperationException('m'),
    'java.lang.UnsupportedOperationException',
    'exception',
    'E_UNSUPPORTED',
    false,
  ],
])('%s has its class name, family and code', (error, className, family, code, retriable) => {
  expect(classNameOf(error)).toBe(className)
  expect(error.family).toBe(family)
  expect(error.code).toBe(code)
  expect(error.retriable).toBe(retriable)
  expect(error.exitCode).toBe(1)
})

describe('retried is', () => {
  test('what states to be retriable, and nothing that only looks so', () => {
    expect(isConnectRetriable(new ThrottledException('m'))).toBe(true)
    expect(isConnectRetriable(new ConnectException('m', {cause: new RetriableException('m')}))).toBe(false)
    expect(isConnectRetriable(new KafkaError('m', {retriable: true}))).toBe(false)
    expect(isConnectRetriable(Object.assign(new Error('m'), {name: 'RetriableException'}))).toBe(false)
    const timeout = {className: 'org.apache.kafka.common.errors.TimeoutException', message: 'm'}
    expect(isConnectRetriable(new JavaException(timeout))).toBe(false)
  })
})

describe('past the engine goes', () => {
  test.each([
    ['a bug of kdlq', new BugError('m')],
    ['a signal', new InterruptedError('SIGINT')],
    ['a failed assertion', failedAssertion],
    ['an abort', abort],
    ['a Java Error', new JavaException({className: 'java.lang.OutOfMemoryError', message: 'm'})],
  ])('%s', (_what, error) => {
    expect(isJavaError(error)).toBe(true)
  })

  test.each([
    ['a bad length, which bytes can provoke', thrownBy(() => Buffer.alloc(1).readInt32BE(0))],
    ['a wrong type', new TypeError('m')],
    ['an error of Kafka', new KafkaError('m')],
    ['an exception', new ConnectException('m')],
    ['text', 'm'],
  ])('not %s', (_what, error) => {
    expect(isJavaError(error)).toBe(false)
  })
})

test('a class that is known by its name alone has the family that Java gives it', () => {
  expect(familyOfClass('org.apache.kafka.connect.errors.RetriableException')).toBe('retriable')
  for (const name of ['OutOfMemoryError', 'StackOverflowError', 'NoClassDefFoundError', 'AssertionError', 'Error']) {
    expect(familyOfClass(`java.lang.${name}`)).toBe('error')
  }
  expect(familyOfClass('java.util.ServiceConfigurationError')).toBe('error')
  for (const name of [
    'java.lang.RuntimeException',
    'org.apache.kafka.common.errors.TimeoutException',
    'a.ParseError',
  ]) {
    expect(familyOfClass(name)).toBe('exception')
  }
})

describe('an error of JavaScript', () => {
  test('is named by its class, or by the name it states', () => {
    expect(classNameOf(new TypeError('m'))).toBe('TypeError')
    expect(classNameOf(new PlainError('m'))).toBe('PlainError')
    expect(classNameOf(new Error('m'))).toBe('Error')
    expect(classNameOf(new KafkaError('m'))).toBe('KafkaError')
    expect(classNameOf(Object.assign(new Error('m'), {className: 'com.example.Codec$Failure'}))).toBe(
      'com.example.Codec$Failure',
    )
  })

  test('has no message, or an empty one, and they differ', () => {
    expect(messageOf(new Error())).toBeNull()
    expect(messageOf(new Error(''))).toBe('')
    expect(messageOf(new ConnectException(null))).toBeNull()
    expect(messageOf(new ConnectException(''))).toBe('')
  })

  test('may not be an error at all', () => {
    const error = toError('just text')
    expect(error).toBeInstanceOf(ConnectException)
    expect(error.message).toBe('just text')
    expect(toError(error)).toBe(error)
  })
})

describe('the stack trace', () => {
  test("of a JavaScript error has its frames in Java's form, and its message whole", () => {
    const error = new TypeError('first\n    at second (line)\nthird')
    error.stack = `TypeError: ${error.message}\n    at decode (file:///app/codec.js:3:7)\n    at run (node:internal:1:1)`
    expect(stackTraceOf(error)).toBe(
      'TypeError: first\n    at second (line)\nthird\n\tat decode (file:///app/codec.js:3:7)\n\tat run (node:internal:1:1)\n',
    )
  })

  test('is one line when the runtime kept no frames', () => {
    const error = new Error('m')
    delete error.stack
    expect(stackTraceOf(error)).toBe('Error: m\n')
  })

  test('shows causes that are no errors, and the parts of an aggregate', () => {
    const part = new JavaException({className: 'a.Part', message: null, frames: ['a.B.c(B.java:1)']})
    const error = new AggregateError([part], 'two', {cause: 'why'})
    error.stack = 'AggregateError: two'
    expect(stackTraceOf(error)).toBe(
      'AggregateError: two\n\tSuppressed: a.Part\n\t\tat a.B.c(B.java:1)\nCaused by: string: why\n',
    )
  })

  test('ends where causes go round', () => {
    const inner: Error = new Error('inner')
    const outer = new Error('outer', {cause: inner})
    inner.cause = outer
    for (const error of [inner, outer]) delete error.stack
    expect(stackTraceOf(outer)).toBe(
      'Error: outer\nCaused by: Error: inner\nCaused by: [CIRCULAR REFERENCE: Error: outer]\n',
    )
  })
})
