import {describe, expect, test} from 'vitest'
import {isFrameworkClass} from '../../../src/lib/dead-letter/frameworks.ts'
import {foldStackTrace} from '../../../src/lib/dead-letter/stack-trace.ts'
import {parseFrame} from '../../../src/lib/dead-letter/trace-java.ts'

const STACK = `org.apache.kafka.connect.errors.ConnectException: Write to table orders failed
\tat com.acme.orders.OrdersSinkTask.store(OrdersSinkTask.java:64)
\tat com.acme.orders.OrdersSinkTask.put(OrdersSinkTask.java:41)
\tat org.apache.kafka.connect.runtime.WorkerSinkTask.deliverMessages(WorkerSinkTask.java:628)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\tSuppressed: java.io.IOException: connection reset by peer
\t\tat com.acme.orders.OrdersSinkTask.store(OrdersSinkTask.java:65)
\t\t... 13 more
\tCaused by: com.acme.NotTheCause: no
Caused by: java.sql.SQLException: ERROR: duplicate key
  Detail: Key (id)=(7)
\tat org.postgresql.core.Query.run(Query.java:5)
\tat app//com.acme.db.Table$Row.<init>(Table.java:9)
\t... 14 more
`

test('puts the cause first, hides frames of frameworks and counts them', () => {
  expect(foldStackTrace(STACK)).toEqual({
    frames: 7,
    hiddenFrames: 3,
    sections: [
      {
        relation: 'cause',
        class: 'java.sql.SQLException',
        message: 'ERROR: duplicate key\n  Detail: Key (id)=(7)',
        lines: [
          {kind: 'hidden', count: 1},
          {
            kind: 'frame',
            text: 'at app//com.acme.db.Table$Row.<init>(Table.java:9)',
            method: 'com.acme.db.Table$Row.<init>',
          },
          {kind: 'common', count: 14},
        ],
      },
      {
        relation: 'thrown',
        class: 'org.apache.kafka.connect.errors.ConnectException',
        message: 'Write to table orders failed',
        lines: [
          {
            kind: 'frame',
            text: 'at com.acme.orders.OrdersSinkTask.store(OrdersSinkTask.java:64)',
            method: 'com.acme.orders.OrdersSinkTask.store',
          },
          {
            kind: 'frame',
            text: 'at com.acme.orders.OrdersSinkTask.put(OrdersSinkTask.java:41)',
            method: 'com.acme.orders.OrdersSinkTask.put',
          },
          {kind: 'hidden', count: 2},
        ],
      },
      {
        relation: 'suppressed',
        class: 'java.io.IOException',
        message: 'connection reset by peer',
        lines: [
          {
            kind: 'frame',
            text: 'at com.acme.orders.OrdersSinkTask.store(OrdersSinkTask.java:65)',
            method: 'com.acme.orders.OrdersSinkTask.store',
          },
          {kind: 'common', count: 13},
        ],
      },
      {relation: 'suppressed', class: 'com.acme.NotTheCause', message: 'no', lines: []},
    ],
  })
})

test('reads CRLF as LF', () => {
  expect(foldStackTrace(STACK.replaceAll('\n', '\r\n'))).toEqual(foldStackTrace(STACK))
})

describe('hostile traces', () => {
  test('an empty one has no section, a line of prose one without a class', () => {
    expect(foldStackTrace('').sections).toEqual([])
    expect(foldStackTrace('it went wrong').sections).toEqual([
      {relation: 'thrown', class: null, message: 'it went wrong', lines: []},
    ])
  })

  test('lines behind the frames stay where they are, as text', () => {
    const [section] = foldStackTrace('a.B: x\n\tat com.acme.C.d(C.java:1)\nforged line\n').sections
    expect(section?.lines[1]).toEqual({kind: 'text', text: 'forged line'})
  })

  test.each(['\tat ', '\tat (', '\tat nodot(X.java:1)', '\tat a b.c(X)', `\tat ${'a.'.repeat(2000)}b(X)`])(
    'does not take %j for a frame',
    line => {
      expect(foldStackTrace(`a.B: x\n${line}`).frames).toBe(0)
    },
  )
})

test.each([
  ['com.acme.A.lambda$store$0(A.java:1)', 'com.acme.A.lambda$store'],
  ['com.acme.A$$Lambda/0x0000000800c3a000.apply(Unknown Source)', 'com.acme.A$$Lambda.apply'],
  ['com.acme.A$$Lambda$12/0x0000000800c3a000.apply(Unknown Source)', 'com.acme.A$$Lambda.apply'],
  ['com.acme.A$$SpringCGLIB$$0.run(<generated>)', 'com.acme.A.run'],
  ['com.acme.A$$EnhancerBySpringCGLIB$$1a2b3c.run(<generated>)', 'com.acme.A.run'],
  ['com.acme.A_Subclass.run(Unknown Source)', 'com.acme.A.run'],
  ['com.acme.A_ClientProxy.run(Unknown Source)', 'com.acme.A.run'],
  ['com.acme.A$HibernateProxy$x1Y2z3.run(Unknown Source)', 'com.acme.A.run'],
  ['com.acme.A$$anonfun$store$1.apply(A.scala:3)', 'com.acme.A$$anonfun$store$.apply'],
  ['com.acme.A$1.run(A.java:1)', 'com.acme.A$.run'],
  ['com.acme.A$2$Inner.run(A.java:1)', 'com.acme.A$$Inner.run'],
  ['com.sun.proxy.$Proxy17.run(Unknown Source)', 'com.sun.proxy.$Proxy.run'],
  ['app//com.acme.A$Inner.<init>(A.java:1)', 'com.acme.A$Inner.<init>'],
  ['loader/module@1.2/com.acme.A.<clinit>(A.java)', 'com.acme.A.<clinit>'],
])('names the method of %s without what a build changes', (frame, method) => {
  expect(parseFrame(`\tat ${frame}`)?.method).toBe(method)
})

test('knows the platform and frameworks by their packages', () => {
  for (const name of ['java.lang.Thread', 'jdk.internal.X', 'org.apache.kafka.connect.X', 'org.springframework.X']) {
    expect(isFrameworkClass(name)).toBe(true)
  }
  for (const name of ['com.acme.X', 'javaness.X', 'org.apache.kafkaesque.X']) expect(isFrameworkClass(name)).toBe(false)
})
