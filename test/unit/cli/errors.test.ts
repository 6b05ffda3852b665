import {describe, expect, test} from 'vitest'
import * as errors from '../../../src/lib/errors.ts'
import {EXIT_CODES} from '../../../src/lib/cli/exit-codes.ts'
import {errorJson, errorText, toKdlqError} from '../../../src/lib/cli/error-report.ts'

const table = [
  [new errors.UsageError('x'), 'UsageError', 'E_USAGE', 2],
  [new errors.ConfigError('x'), 'ConfigError', 'E_CONFIG', 2],
  [new errors.AuthError('x'), 'AuthError', 'E_AUTH', 4],
  [new errors.UnreachableError('x'), 'UnreachableError', 'E_UNREACHABLE', 5],
  [new errors.KafkaError('x'), 'KafkaError', 'E_KAFKA', 1],
  [new errors.IoError('x'), 'IoError', 'E_IO', 1],
  [new errors.RecordError('x'), 'RecordError', 'E_RECORD', 3],
  [new errors.PartialFailureError('x'), 'PartialFailureError', 'E_PARTIAL', 3],
  [new errors.RefusedError('x'), 'RefusedError', 'E_REFUSED', 6],
  [new errors.InterruptedError('SIGINT'), 'InterruptedError', 'E_INTERRUPTED', 130],
  [new errors.InterruptedError('SIGTERM'), 'InterruptedError', 'E_INTERRUPTED', 143],
  [new errors.BugError('x'), 'BugError', 'E_BUG', 70],
] as const

describe('every error class', () => {
  test.each(table)('%s', (error, name, code, exitCode) => {
    expect({name: error.name, code: error.code, exitCode: error.exitCode, retriable: error.retriable}).toEqual({
      name,
      code,
      exitCode,
      retriable: false,
    })
    expect(EXIT_CODES.map(([known]) => known)).toContain(exitCode)
  })

  test('the table has all classes of the module', () => {
    const classes = Object.entries(errors).flatMap(([name, value]) =>
      typeof value === 'function' && value.prototype instanceof errors.KdlqError ? [name] : [],
    )
    expect(new Set(table.map(([, name]) => name))).toEqual(new Set(classes))
  })
})

describe('an error as text', () => {
  const error = new errors.KafkaError('topic \u001b[31morders does not exist', {
    hints: ['look at\u0007 it'],
    context: {topic: 'orders'},
    cause: new Error('why'),
  })

  test('is sanitised, with hints', () => {
    expect(errorText(error, {verbose: false})).toBe('error: topic ^[[31morders does not exist\nhint: look at^G it\n')
  })

  test('says the place when the message does not', () => {
    expect(
      errorText(new errors.RefusedError('the file exists already', {context: {path: 'a.ndjson'}}), {verbose: false}),
    ).toBe('error: the file exists already (path a.ndjson)\n')
  })

  test('verbose shows code, context, stack and cause', () => {
    const text = errorText(error, {verbose: true})
    expect(text).toContain('code: E_KAFKA, exit code 1\n')
    expect(text).toContain('topic: orders\n')
    expect(text).toContain('caused by Error: why')
  })

  test('a signal is told without the word error', () => {
    expect(errorText(new errors.InterruptedError('SIGINT'), {verbose: false})).toBe('stopped by SIGINT\n')
  })
})

test('an error as JSON has code, message, exit code, hints and context', () => {
  expect(errorJson(new errors.UsageError('no', {hints: ['h'], context: {flag: '--from'}}))).toEqual({
    code: 'E_USAGE',
    message: 'no',
    exitCode: 2,
    hints: ['h'],
    context: {flag: '--from'},
  })
})

describe('whatever is thrown', () => {
  test('a file error keeps its words and is exit 1', () => {
    const cause = Object.assign(new Error("ENOENT: no such file or directory, open 'x'"), {code: 'ENOENT', path: 'x'})
    expect(toKdlqError(cause)).toMatchObject({
      exitCode: 1,
      code: 'E_IO',
      message: "no such file or directory, open 'x'",
      context: {code: 'ENOENT', path: 'x'},
    })
  })

  test('anything else is a bug that asks for a report', () => {
    const bug = toKdlqError(new TypeError('x is not a function'))
    expect(bug).toMatchObject({exitCode: 70, message: 'unexpected TypeError: x is not a function'})
    expect(bug.hints.join()).toContain('report')
    expect(toKdlqError('text').exitCode).toBe(70)
    expect(toKdlqError(undefined).exitCode).toBe(70)
  })
})
