import fc from 'fast-check'
import {expect, test} from 'vitest'
import {fingerprint} from '../../src/lib/dead-letter/fingerprint.ts'
import {normaliseMessage} from '../../src/lib/dead-letter/normalise-message.ts'
import {foldStackTrace} from '../../src/lib/dead-letter/stack-trace.ts'
import {isJavaTrace, javaFacts, readJavaTrace} from '../../src/lib/dead-letter/trace-java.ts'
import {splitLines} from '../../src/lib/dead-letter/trace.ts'
import type {Failure} from '../../src/lib/dialects/model.ts'

const javaLine = fc.constantFrom(
  'a.B: message',
  'Caused by: c.D: worse',
  'Caused by: c.D',
  'Caused by: no class here',
  'Caused by: ',
  '\tat com.acme.App.run(App.java:1)',
  '\tat com.acme.App.lambda$run$0(App.java:1)',
  '\tat java.base/java.lang.Thread.run(Thread.java:840)',
  '\tat org.apache.kafka.x.Y.z(Y.java:1)',
  '\tat app//com.acme.Db$Row.<init>(Db.java:2)',
  '\tat org.apache.kafka.X$$Lambda/0x00007f.apply(Unknown Source)',
  '\tat java.x y(Z)',
  '\tat ',
  '\tSuppressed: s.T: no',
  '\t\tat com.acme.Suppressed.run(S.java:1)',
  '\tCaused by: s.U: no',
  '\t... 3 more',
  'text',
  '',
  '\r',
)
const javaTrace = fc
  .tuple(fc.array(javaLine, {maxLength: 12}), fc.constantFrom('\n', '\r\n'))
  .map(([lines, end]) => ['x.Y: first', '\tat java.A.b(A.java:1)', ...lines].join(end))

test('the short way through a Java trace finds what taking it apart finds', () => {
  fc.assert(
    fc.property(javaTrace, stack => {
      const sections = readJavaTrace(splitLines(stack))
      const last = sections.findLast(({relation, class: name}) => relation === 'cause' && name !== null)
      const frames = sections
        .toReversed()
        .filter(({relation}) => relation !== 'suppressed')
        .flatMap(({lines}) => lines.flatMap(line => (line.kind === 'frame' ? [line.frame] : [])))
      expect(isJavaTrace(stack.replaceAll('\r\n', '\n'))).toBe(true)
      expect(javaFacts(stack)).toEqual({
        cause: last === undefined ? null : {class: last.class, message: (last.message ?? '').split('\n')[0]},
        frame: frames.find(({isFramework}) => !isFramework)?.method ?? null,
      })
    }),
  )
})

const anyText = fc.oneof(
  fc.string({unit: 'binary', maxLength: 300}),
  fc
    .array(
      fc.constantFrom('"', "'", '{', '}', ':', '/', '@', '1', 'a', ' ', '[Source: ', '; line: ', '<n>', '`', '\n'),
      {maxLength: 60},
    )
    .map(parts => parts.join('')),
)

test('any message is normalised without a throw, and does not grow without bound', () => {
  fc.assert(
    fc.property(anyText, text => {
      expect(normaliseMessage(text).length).toBeLessThanOrEqual(text.length * 4 + 16)
    }),
  )
})

test('numbers, ids and times in a message do not change the fingerprint', () => {
  const part = fc.oneof(
    fc.integer().map(String),
    fc.uuid(),
    fc.date({noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01')}).map(date => date.toISOString()),
    fc.ipV4(),
  )
  const record = {key: null, value: null}
  const idOf = (message: string): string | null => {
    const failure: Failure = {dialect: 'x', exception: {class: 'a.B', message}}
    return fingerprint(failure, record)
  }
  for (const kind of [fc.integer().map(String), fc.uuid(), fc.ipV4(), part]) {
    fc.assert(
      fc.property(kind, kind, (one, other) => {
        const [left, right] = [one, other].map(text => `order '${text}' of customer "${text}" is bad`)
        expect(idOf(left ?? '')).toBe(idOf(right ?? ''))
      }),
      {numRuns: 30},
    )
  }
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (one, other) => {
      expect(idOf(`order ${one} is bad`)).toBe(idOf(`order ${other} is bad`))
    }),
    {numRuns: 30},
  )
})

test('any text in the form of any trace is read without a throw, and no frame is lost', () => {
  const line = fc.oneof(
    javaLine,
    fc.constantFrom(
      'Traceback (most recent call last):',
      '  File "/app/x.py", line 1, in run',
      'ValueError: bad',
      'goroutine 1 [running]:',
      'main.run(0x1)',
      '\t/app/main.go:3 +0x1',
      '#0 /app/x.php(3): App\\X->run()',
      'Next X: y in /a.php:1',
      "app/x.rb:1:in 'run': bad (X::Y)",
      '    at run (/app/x.js:1:2)',
      '  [cause]: Error: y',
      '   at Acme.X.Run() in /x.cs:line 3',
      ' ---> B: c',
      '   --- End of inner exception stack trace ---',
    ),
    fc.string({maxLength: 40}),
  )
  fc.assert(
    fc.property(fc.array(line, {maxLength: 12}), lines => {
      const {frames, hiddenFrames, sections} = foldStackTrace(lines.join('\n'))
      const shown = sections.flatMap(section => section.lines.filter(({kind}) => kind === 'frame')).length
      expect(shown + hiddenFrames).toBe(frames)
    }),
  )
})
