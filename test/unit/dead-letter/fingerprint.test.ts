import {describe, expect, test} from 'vitest'
import {type FailureKind, failureKind, fingerprint, kindId} from '../../../src/lib/dead-letter/fingerprint.ts'
import {createDeadLetter} from '../../../src/lib/dead-letter/dead-letter.ts'
import type {DeadLetter} from '../../../src/lib/dead-letter/model.ts'
import type {Failure} from '../../../src/lib/dialects/model.ts'
import {recordWith} from '../../support/records.ts'

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

test('does not depend on family, partition, offset, connector, values and line numbers', () => {
  const stack = (line: number): string => `a.B: 7\n\tat com.acme.C.d(C.java:${line})`
  const one = failed(
    {class: 'a.B', message: 'order 7 is bad', stack: stack(1)},
    {
      connector: 'a',
      origin: {topic: 'x', partition: 0, offset: '7'},
    },
  )
  const other = failed(
    {class: 'a.B', message: 'order 8 is bad', stack: stack(2)},
    {
      dialect: 'x',
      connector: 'b',
      origin: {topic: 'x', partition: 5},
    },
  )
  expect(fingerprint(one, record)).toBe(fingerprint(other, {key: null, value: null}))
})

test('depends on topic, stage, class, message and the place in the application', () => {
  const base = {class: 'a.B', message: 'bad', stack: 'a.B: bad\n\tat com.acme.C.d(C.java:1)'}
  const ids = [
    failed(base),
    failed(base, {stage: 'TRANSFORMATION'}),
    failed({...base, class: 'a.C'}),
    failed({...base, message: 'good'}),
    failed({...base, stack: 'a.B: bad\n\tat com.acme.C.e(C.java:1)'}),
    failed({class: 'a.B', stack: 'a.B\n\tat com.acme.C.d(C.java:1)'}),
    failed(base, {origin: {topic: 'orders'}}),
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

test('[CR-13] differs for two destinations, is the same in every run, and the kind is the same for both', () => {
  const exception = {class: 'java.net.ConnectException', message: 'Connection refused'}
  const orders = failed(exception, {origin: {topic: 'orders', partition: 1, offset: '5'}})
  const payments = failed(exception, {origin: {topic: 'payments', partition: 1, offset: '5'}})
  const again = failed({...exception}, {origin: {topic: 'orders', partition: 2, offset: '99'}})
  expect(fingerprint(orders, record)).not.toBe(fingerprint(payments, record))
  expect(fingerprint(again, record)).toBe(fingerprint(orders, record))
  expect(kindId(failureKind(orders, record))).toBe(kindId(failureKind(payments, record)))
  // sha256 of kdlq-2, orders, no stage (processing), java.net.ConnectException, Connection refused and no frame, joined by NUL
  expect(fingerprint(orders, record)).toBe('f-b18c4f23')
})

test('a record that was parked again keeps the topic of its first failure, and so its fingerprint', () => {
  const first = failed({class: 'a.B', message: 'x'}, {origin: {topic: 'orders'}})
  const later = failed(
    {class: 'a.B', message: 'x'},
    {origin: {topic: 'orders'}, last: {topic: 'orders-retry-1'}, hops: 2},
  )
  expect(fingerprint(later, record)).toBe(fingerprint(first, record))
})

describe('wrappers', () => {
  const kind = (exception: Failure['exception']): Partial<FailureKind> => failureKind(failed(exception), record)

  test('a cause header that names a known wrapper gives way to the last cause of the trace', () => {
    const stack = 'w.W: w\nCaused by: java.util.concurrent.ExecutionException: e\nCaused by: a.RootException: boom'
    expect(kind({class: 'w.W', cause: 'java.util.concurrent.ExecutionException', stack})).toMatchObject({
      class: 'a.RootException',
      message: 'boom',
    })
    expect(kind({class: 'w.W', cause: 'a.KnownException', stack})).toMatchObject({class: 'a.KnownException'})
  })

  test("what a recoverer puts in front of the cause's message is left out", () => {
    const wrapper = 'org.springframework.kafka.listener.ListenerExecutionFailedException'
    expect(kind({class: wrapper, cause: 'a.B', message: 'Listener failed; boom'})).toMatchObject({message: 'boom'})
    expect(kind({class: 'own.Error', cause: 'a.B', message: 'left; right'})).toMatchObject({message: 'left; right'})
  })

  test('older Spring names the nested exception in the text', () => {
    const message = 'Listener failed; nested exception is java.lang.IllegalStateException: order 7'
    expect(kind({class: 'w.W', message})).toMatchObject({
      class: 'java.lang.IllegalStateException',
      message: 'order <n>',
    })
  })

  test('the assembly behind a class of .NET does not count', () => {
    expect(kind({class: 'System.FormatException, System.Private.CoreLib', message: 'm'})).toMatchObject({
      class: 'System.FormatException',
    })
  })
})

test('records of different families about the same failure have the same fingerprint', () => {
  const stack = [
    'x.WrapperException: wrapped',
    'Caused by: com.acme.StockException: order 7 has no stock',
    '\tat com.acme.Stock.take(Stock.java:12)',
    '\t... 9 more',
    '',
  ].join('\n')
  const headers = (list: Readonly<Record<string, string | Buffer>>): DeadLetter =>
    createDeadLetter(
      recordWith(
        Object.entries(list).map(([name, text]) => [name, typeof text === 'string' ? Buffer.from(text) : text]),
      ),
    )
  const number = (value: number, bytes: number): Buffer => {
    const buffer = Buffer.alloc(bytes)
    buffer.writeInt32BE(value, bytes - 4)
    return buffer
  }
  const connect = headers({
    '__connect.errors.topic': 'orders',
    '__connect.errors.partition': '1',
    '__connect.errors.offset': '5',
    '__connect.errors.connector.name': 'orders-es',
    '__connect.errors.task.id': '0',
    '__connect.errors.stage': 'TASK_PUT',
    '__connect.errors.class.name': 'com.acme.Task',
    '__connect.errors.exception.class.name': 'x.WrapperException',
    '__connect.errors.exception.message': 'wrapped',
    '__connect.errors.exception.stacktrace': stack,
  })
  const spring = headers({
    'kafka_dlt-original-topic': 'orders',
    'kafka_dlt-original-partition': number(2, 4),
    'kafka_dlt-original-offset': number(9, 8),
    'kafka_dlt-original-consumer-group': 'billing',
    'kafka_dlt-exception-fqcn': 'y.OtherWrapper',
    'kafka_dlt-exception-cause-fqcn': 'com.acme.StockException',
    'kafka_dlt-exception-message': 'Listener failed; order 8 has no stock',
    'kafka_dlt-exception-stacktrace': stack
      .replace('x.WrapperException', 'y.OtherWrapper')
      .replace('order 7', 'order 8'),
  })
  const streams = headers({
    '__streams.errors.topic': 'orders',
    '__streams.errors.partition': '0',
    '__streams.errors.offset': '1',
    '__streams.errors.exception': 'z.StreamsWrapper',
    '__streams.errors.message': 'wrapped',
    '__streams.errors.stacktrace': stack.replace('x.WrapperException', 'z.StreamsWrapper'),
  })
  expect([connect, spring, streams].map(({failure}) => failure.dialect)).toEqual(['connect', 'spring-dlt', 'streams'])
  expect(new Set([connect, spring, streams].map(({fingerprint: id}) => id)).size).toBe(1)
})
