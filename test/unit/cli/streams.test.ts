import {EventEmitter} from 'node:events'
import {Writable} from 'node:stream'
import {describe, expect, test} from 'vitest'
import {colourLevel, speaksUnicode} from '../../../src/lib/cli/colour.ts'
import {OutputClosedError, StreamOutput} from '../../../src/lib/cli/output.ts'
import {outputModeOf} from '../../../src/lib/cli/output-mode.ts'
import {Progress, progressLine} from '../../../src/lib/cli/progress.ts'
import {watchSignals} from '../../../src/lib/cli/signals.ts'
import {FakeClock} from '../../support/fake-clock.ts'

describe('colour', () => {
  const tty = (env: Record<string, string>, noColorFlag = false) => colourLevel({isTTY: true, noColorFlag, env})
  test('on a terminal unless something says no', () => {
    expect(tty({TERM: 'xterm'})).toBe(1)
    expect(tty({TERM: 'xterm-256color'})).toBe(2)
    expect(tty({TERM: 'xterm', COLORTERM: 'truecolor'})).toBe(3)
    expect(tty({TERM: 'xterm'}, true)).toBe(0)
    expect(tty({TERM: 'xterm', NO_COLOR: 'anything'})).toBe(0)
    expect(tty({TERM: 'xterm', NO_COLOR: ''})).toBe(1)
    expect(tty({TERM: 'dumb'})).toBe(0)
  })

  test('off in a pipe unless FORCE_COLOR; NO_COLOR wins', () => {
    const pipe = (env: Record<string, string>) => colourLevel({isTTY: false, noColorFlag: false, env})
    expect([pipe({}), pipe({FORCE_COLOR: '1'}), pipe({FORCE_COLOR: '3'}), pipe({FORCE_COLOR: '0'})]).toEqual([
      0, 1, 3, 0,
    ])
    expect(pipe({FORCE_COLOR: '1', NO_COLOR: '1'})).toBe(0)
  })

  test('Unicode needs a UTF-8 locale and a terminal that can', () => {
    expect([speaksUnicode({LANG: 'en_US.UTF-8'}), speaksUnicode({LANG: 'C'}), speaksUnicode({})]).toEqual([
      true,
      false,
      false,
    ])
    expect(speaksUnicode({LC_ALL: 'C', LANG: 'en_US.UTF-8'})).toBe(false)
    expect(speaksUnicode({LANG: 'en_US.UTF-8', TERM: 'dumb'})).toBe(false)
  })
})

/** A sink that takes one chunk at a time, when told. */
class SlowSink extends Writable {
  readonly taken: string[] = []
  release: (() => void) | null = null
  fail: Error | null = null

  constructor() {
    super({highWaterMark: 1, decodeStrings: false})
  }

  override _write(chunk: string, _: BufferEncoding, done: (error?: Error) => void): void {
    if (this.fail !== null) {
      done(this.fail)
      return
    }
    this.taken.push(chunk)
    this.release = () => done()
  }
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

describe('StreamOutput', () => {
  test('waits for a slow reader instead of collecting', async () => {
    const sink = new SlowSink()
    const output = new StreamOutput(sink)
    let done = false
    const writing = (async () => {
      await output.write('a'.repeat(40_000))
      done = true
    })()
    await turns()
    expect(done).toBe(false)
    sink.release?.()
    await writing
    expect(sink.taken.join('')).toHaveLength(40_000)
  })

  test('keeps the order of text and bytes', async () => {
    const chunks: string[] = []
    const output = new StreamOutput(
      new Writable({
        write(chunk: Buffer, _, done) {
          chunks.push(chunk.toString())
          done()
        },
      }),
    )
    await output.write('1')
    await output.write('2')
    await output.write(Buffer.from('3'))
    await output.write('4')
    await output.flush()
    expect(chunks.join('')).toBe('1234')
  })

  test('a reader that went away ends the writer and tells the listeners', async () => {
    const sink = new SlowSink()
    sink.fail = Object.assign(new Error('write EPIPE'), {code: 'EPIPE'})
    const output = new StreamOutput(sink)
    let told = 0
    output.onClosed(() => {
      told += 1
    })
    await expect(output.write('x')).rejects.toThrow(OutputClosedError)
    await expect(output.write('y')).rejects.toThrow(OutputClosedError)
    expect(told).toBe(1)
  })

  test('work that is worth more than its output goes on silently', async () => {
    const sink = new SlowSink()
    sink.fail = Object.assign(new Error('write EPIPE'), {code: 'EPIPE'})
    const output = new StreamOutput(sink)
    let told = 0
    output.onClosed(() => {
      told += 1
    })
    output.ignoreClosed()
    await output.write('x')
    await output.write('y')
    await output.flush()
    expect({taken: sink.taken, told}).toEqual({taken: [], told: 0})
  })

  test('a full disk is an error, not a closed reader', async () => {
    const sink = new SlowSink()
    sink.fail = Object.assign(new Error('write ENOSPC'), {code: 'ENOSPC'})
    const output = new StreamOutput(sink)
    let closed = 0
    output.onClosed(() => {
      closed += 1
    })
    await expect(output.write('x')).rejects.toThrow('the disk is full')
    await expect(output.flush()).rejects.toThrow('the disk is full')
    expect(closed).toBe(0)
  })

  test('a stream that throws at once is the same error', async () => {
    const sink = new Writable({
      write() {
        throw Object.assign(new Error('write ENOSPC'), {code: 'ENOSPC'})
      },
    })
    await expect(new StreamOutput(sink).write('x')).rejects.toThrow('the disk is full')
  })

  test('talk that nobody can take is dropped', async () => {
    for (const code of ['ENOSPC', 'EPIPE']) {
      const sink = new SlowSink()
      sink.fail = Object.assign(new Error(`write ${code}`), {code})
      const output = new StreamOutput(sink, {talk: true})
      await output.write('x')
      await output.flush()
      expect(sink.taken).toEqual([])
    }
  })
})

describe('signals', () => {
  function watch() {
    const source = new EventEmitter()
    const exits: number[] = []
    const said: string[] = []
    let fire: (() => void) | null = null
    const signals = watchSignals({
      source,
      exit: code => exits.push(code),
      say: line => said.push(line),
      after: (ms, run) => {
        expect(ms).toBe(2000)
        fire = run
        return () => {
          fire = null
        }
      },
    })
    return {source, exits, said, signals, deadline: () => fire?.(), isArmed: () => fire !== null}
  }

  test('the first one aborts and leaves time to settle', () => {
    const {source, exits, signals} = watch()
    source.emit('SIGINT')
    expect(signals.signal.reason).toMatchObject({exitCode: 130})
    expect(exits).toEqual([])
  })

  test('the second one leaves at once', () => {
    const {source, exits} = watch()
    source.emit('SIGINT')
    source.emit('SIGTERM')
    expect(exits).toEqual([143])
  })

  test('a run that does not settle is ended after two seconds', () => {
    const {source, exits, said, deadline} = watch()
    source.emit('SIGTERM')
    deadline()
    expect(exits).toEqual([143])
    expect(said.join()).toContain('not settled within 2 s')
  })

  test('disposing takes the listeners and the timer away', () => {
    const {source, signals, isArmed} = watch()
    source.emit('SIGINT')
    signals[Symbol.dispose]()
    expect(isArmed()).toBe(false)
    expect(source.listenerCount('SIGINT') + source.listenerCount('SIGTERM')).toBe(0)
  })
})

describe('progress', () => {
  function sink(isTTY: boolean) {
    const written: string[] = []
    const output = {
      isTTY,
      width: isTTY ? 40 : null,
      write: async (text: string | Uint8Array) => {
        written.push(text.toString())
      },
      flush: async () => undefined,
      onClosed: () => undefined,
      ignoreClosed: () => undefined,
    }
    return {written, output}
  }

  test('draws on a terminal at most ten times a second, not at once, and cleans up', async () => {
    const {written, output} = sink(true)
    const clock = new FakeClock()
    const progress = new Progress(output, clock, {quiet: false})
    await progress.update({label: 'reading', done: 1})
    expect(written).toEqual([])
    await clock.advance(1000)
    await progress.update({label: 'reading', done: 10})
    await progress.update({label: 'reading', done: 11})
    expect(written).toEqual(['\r\u001b[Kreading: 10 records, 10/s'])
    await progress.clear()
    expect(written.at(-1)).toBe('\r\u001b[K')
  })

  test('says nothing in a pipe or with --quiet', async () => {
    for (const [isTTY, quiet] of [
      [false, false],
      [true, true],
    ] as const) {
      const {written, output} = sink(isTTY)
      const clock = new FakeClock()
      const progress = new Progress(output, clock, {quiet})
      await clock.advance(5000)
      await progress.update({label: 'reading', done: 1})
      await progress.clear()
      expect(written).toEqual([])
    }
  })

  test('a line has counts, share, bytes and rate', () => {
    expect(progressLine({label: 'writing', done: 500, total: 2000, bytes: 1024}, 2000)).toBe(
      'writing: 500 of 2,000 records 25 %, 1 KiB, 250/s',
    )
  })
})

test('the mode of an error is known before the line is parsed', () => {
  expect(outputModeOf(['inspect', '--json'], {}).json).toBe(true)
  expect(outputModeOf(['inspect', '-o', 'json'], {}).json).toBe(true)
  expect(outputModeOf(['inspect', '-ojson'], {}).json).toBe(true)
  expect(outputModeOf(['inspect', '--output=jsonl'], {}).json).toBe(false)
  expect(outputModeOf(['inspect'], {KDLQ_OUTPUT: 'json'}).json).toBe(true)
  expect(outputModeOf(['inspect', '--output', 'table'], {KDLQ_OUTPUT: 'json'}).json).toBe(false)
  expect(outputModeOf(['inspect', '--', '--json'], {}).json).toBe(false)
})
