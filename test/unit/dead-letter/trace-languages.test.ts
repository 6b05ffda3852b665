import {describe, expect, test} from 'vitest'
import {failureKind} from '../../../src/lib/dead-letter/fingerprint.ts'
import {foldStackTrace, parseStackTrace} from '../../../src/lib/dead-letter/stack-trace.ts'
import {parseDotnetFrame} from '../../../src/lib/dead-letter/trace-dotnet.ts'
import {parseGoFunction} from '../../../src/lib/dead-letter/trace-go.ts'
import {parseNodeFrame} from '../../../src/lib/dead-letter/trace-node.ts'
import {parsePhpFrame} from '../../../src/lib/dead-letter/trace-php.ts'
import {parseRubyFrame} from '../../../src/lib/dead-letter/trace-ruby.ts'
import {assertLinear} from '../../support/linear.ts'

const kindOf = (stack: string) => failureKind({dialect: 'generic', exception: {stack}}, {key: null, value: null})

const DOTNET = `System.InvalidOperationException: Order 17 cannot be stored
 ---> Npgsql.NpgsqlException (0x80004005): Failed to connect to 10.0.0.7:5432
   at Npgsql.Internal.NpgsqlConnector.Connect(NpgsqlTimeout timeout)
   at Acme.Orders.Db.Table\`1.Open[T](T key) in /src/Db.cs:line 12
   --- End of inner exception stack trace ---
   at Acme.Orders.OrderHandler.<HandleAsync>d__5.MoveNext() in /src/OrderHandler.cs:line 42
--- End of stack trace from previous location ---
   at Silverback.Messaging.Subscribers.SubscribedMethodInvoker.InvokeAsync()
`

const PYTHON = `Traceback (most recent call last):
  File "/app/orders/db.py", line 12, in connect
    sock.connect(address)
  File "/usr/lib/python3.12/socket.py", line 3, in connect
    raise error
ConnectionRefusedError: [Errno 111] Connection refused

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/local/lib/python3.12/site-packages/faust/agents/agent.py", line 647, in _slurp
    async for value in it:
  File "/app/orders/handler.py", line 42, in handle
    store(order)
orders.errors.StoreError: cannot store order 17
`

const GO = `panic: order 17 has no customer [recovered]

goroutine 42 [running]:
runtime/debug.Stack()
\t/usr/local/go/src/runtime/debug/stack.go:24 +0x65
panic({0x1234560, 0xc000012345})
\t/usr/local/go/src/runtime/panic.go:884 +0x212
github.com/acme/orders/internal/handler.(*Handler).Handle.func1({0x1, 0x2}, 0xc000)
\t/build/internal/handler/handler.go:57 +0x1d
github.com/ThreeDotsLabs/watermill/message.(*handler).handleMessage(0xc0001)
\t/go/pkg/mod/github.com/!three!dots!labs/watermill@v1.3.5/message/router.go:730 +0x5
created by main.main in goroutine 1
\t/build/main.go:10 +0x5
`

const NODE = `TypeError: Cannot read properties of undefined (reading 'id')
    at Object.handleOrder [as eachMessage] (/app/dist/orders/handler.js:12:5)
    at async Runner.processEachMessage (/app/node_modules/kafkajs/src/consumer/runner.js:231:9)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5) {
  [cause]: Error [ERR_STORE]: connect ECONNREFUSED 10.0.0.7:5432
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1555:16)
      at async connect (file:///app/dist/db.js:7:3) {
    errno: -111
  }
}
`

const RUBY = `/app/consumers/orders_consumer.rb:12:in 'OrdersConsumer#store': order 17 is bad (Acme::StoreError)
\tfrom /app/consumers/orders_consumer.rb:5:in 'block in OrdersConsumer#consume'
\tfrom /usr/local/bundle/gems/karafka-2.5.0/lib/karafka/base_consumer.rb:80:in 'on_consume'
/usr/local/bundle/gems/pg-1.5.6/lib/pg/connection.rb:709:in 'PG::Connection.connect': connection refused (PG::ConnectionBad)
\tfrom /app/lib/db.rb:7:in 'Db#open'
`

const PHP = `RuntimeException: connection refused in /app/src/Db.php:12
Stack trace:
#0 /app/src/Handler.php(42): App\\Db->open('orders', 7)
#1 {main}

Next App\\Err\\StoreError: cannot store in /app/src/Handler.php:44
Stack trace:
#0 /app/vendor/laravel/framework/src/x.php(3): App\\Handler->handle(Array)
#1 [internal function]: Illuminate\\Bus\\Dispatcher->dispatch()
#2 {main}
`

describe('the cause and the first frame of the application', () => {
  test.each([
    [
      '.NET',
      DOTNET,
      {class: 'Npgsql.NpgsqlException', message: 'Failed to connect to <address>', frame: 'Acme.Orders.Db.Table.Open'},
    ],
    [
      'Python',
      PYTHON,
      {class: 'ConnectionRefusedError', message: '[Errno <n>] Connection refused', frame: 'db.connect'},
    ],
    [
      'Go',
      GO,
      {
        class: null,
        message: 'order <n> has no customer',
        frame: 'github.com/acme/orders/internal/handler.Handler.Handle',
      },
    ],
    ['Node', NODE, {class: 'Error', message: '[ERR_STORE] connect ECONNREFUSED <address>', frame: 'db.connect'}],
    ['Ruby', RUBY, {class: 'PG::ConnectionBad', message: 'connection refused', frame: 'db.open'}],
    ['PHP', PHP, {class: 'RuntimeException', message: 'connection refused', frame: 'App\\Db.open'}],
  ])('are found in a trace of %s', (_, stack, kind) => {
    expect(kindOf(stack)).toMatchObject(kind)
    expect(kindOf(stack.replaceAll('\n', '\r\n'))).toEqual(kindOf(stack))
  })
})

test('the innermost frame stands first in every language, and the outermost exception first', () => {
  const shape = (stack: string): unknown =>
    parseStackTrace(stack).map(({relation, lines}) => [
      relation,
      ...lines.flatMap(line => (line.kind === 'frame' ? [line.frame.method.split(/[.\\]/).at(-1)] : [])),
    ])
  expect(shape(DOTNET)).toEqual([
    ['thrown', 'HandleAsync', 'InvokeAsync'],
    ['cause', 'Connect', 'Open'],
  ])
  expect(shape(PYTHON)).toEqual([
    ['thrown', 'handle', '_slurp'],
    ['cause', 'connect', 'connect'],
  ])
  expect(shape(PHP)).toEqual([
    ['thrown', 'handle', 'dispatch'],
    ['cause', 'open'],
  ])
})

test('frames of frameworks are hidden in every language', () => {
  const hidden = [DOTNET, PYTHON, GO, NODE, RUBY, PHP].map(stack => foldStackTrace(stack).hiddenFrames)
  expect(hidden).toEqual([2, 2, 3, 3, 2, 1])
})

test('a trace quoted in the message of a Java exception does not change its language', () => {
  const stack = `org.acme.PyException: ${PYTHON}\tat com.acme.Bridge.call(Bridge.java:7)\n`
  expect(parseStackTrace(stack)).toHaveLength(1)
  expect(kindOf(stack)).toMatchObject({class: 'org.acme.PyException', frame: 'com.acme.Bridge.call'})
})

test('an older .NET runtime writes all headings in one line', () => {
  const stack =
    'A.OuterException: o ---> B.InnerException: i\n   at B.Db.Open()\n   --- End of inner exception stack trace ---\n   at A.X.Run()\n'
  expect(kindOf(stack)).toMatchObject({class: 'B.InnerException', message: 'i', frame: 'B.Db.Open'})
})

test('a trace without a heading leaves class and message to the headers', () => {
  const exception = {class: 'System.FormatException', message: 'm', stack: '   at Acme.X.Run(String s)\n'}
  const kind = failureKind({dialect: 'wolverine', exception}, {key: null, value: null})
  expect(kind).toMatchObject({class: 'System.FormatException', message: 'm', frame: 'Acme.X.Run'})
})

test('one with a stack from github.com/pkg/errors has the message in front', () => {
  const stack =
    'order 7: no customer\nmain.(*Handler).handle\n\t/app/handler.go:42\nruntime.main\n\t/usr/local/go/src/runtime/proc.go:250\n'
  expect(kindOf(stack)).toMatchObject({message: 'order <n>: no customer', frame: 'main.Handler.handle'})
})

test.each([
  ['   at Acme.X..ctor(Int32 a)', 'Acme.X..ctor'],
  ['   at Acme.X.<>c__DisplayClass3_0.<Run>b__0(Order o)', 'Acme.X.Run'],
  ['   at Acme.X.<>c.<<Run>b__3_1>d.MoveNext()', 'Acme.X.Run'],
  ['   at Acme.X.<Run>g__Local|3_0(Order o)', 'Acme.X.Run.Local'],
  ['   at Acme.Outer.Inner.Run()', 'Acme.Outer.Inner.Run'],
])('names the method of %j in .NET', (line, method) => {
  expect(parseDotnetFrame(line)?.method).toBe(method)
})

test.each([
  ['main.main.func2.1()', 'main.main'],
  ['example.com/a/b.Map[...](0x1)', 'example.com/a/b.Map'],
  ['main.(*T).run-fm()', 'main.T.run'],
])('names the function of %j in Go', (line, method) => {
  expect(parseGoFunction(line)?.method).toBe(method)
})

test.each([
  ['    at /app/x.js:1:2', 'x.<anonymous>', false],
  ['    at new Order (/app/src/order.ts:1:2)', 'order.new Order', false],
  ['    at async Promise.all (index 0)', 'index 0.Promise.all', true],
  ['    at Array.forEach (<anonymous>)', '<anonymous>.Array.forEach', true],
  ['    at run (C:\\app\\dist\\a.js:1:2)', 'a.run', false],
])('names the function of %j in Node', (line, method, isFramework) => {
  expect(parseNodeFrame(line)).toMatchObject({method, isFramework})
})

test('a block of Ruby counts as its method, with and without the class', () => {
  for (const label of ["`consume'", "`block (2 levels) in consume'", "'block in Orders#consume'", "'Orders.consume'"]) {
    expect(parseRubyFrame(`app/orders.rb:3:in ${label}`)?.method).toBe('orders.consume')
  }
})

test('a static method of PHP is called like another one', () => {
  expect(parsePhpFrame("#0 /a.php(1): App\\X::run('a(b')")?.method).toBe('App\\X.run')
})

test('hostile text in the form of a trace takes work in proportion to its length', async () => {
  const signs = [
    '   at A.B(',
    '#0 /a(1): x',
    'a.rb:1:in `x',
    '  File "x", line 1, in y',
    ' ---> ',
    '\t/a.go:1',
    '    at x (y:1:1)',
  ]
  for (const sign of signs) {
    await assertLinear(500, lines => foldStackTrace(`${sign}\n${`${sign.repeat(150)}\n`.repeat(lines)}`))
    await assertLinear(40_000, times => foldStackTrace(`${sign}\n${sign.repeat(times)}\n`))
  }
})
