import {mkdtemp, readFile, rm, stat, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {JavaException} from '../../../src/lib/connect-engine/errors.ts'
import {fileLog, stderrLog} from '../../../src/lib/cli/error-log.ts'
import type {Output} from '../../../src/lib/cli/output.ts'
import {toErrors, toParkingTopic} from '../../../src/lib/cli/replay-error-flags.ts'
import {DEFAULT_ERRORS} from '../../../src/lib/replay/plan.ts'

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kdlq-errors-'))
})

afterEach(async () => rm(dir, {recursive: true}))

const HOSTILE = 'a\u001b[2Jb\r\nc'
const event = {
  logger: 'LogReporter',
  message: `Error encountered in task r-1-0${HOSTILE}.`,
  error: new JavaException({className: 'org.apache.kafka.common.InvalidRecordException', message: HOSTILE}),
}
const now = (): number => 1_764_500_000_000

function output(isTTY: boolean): Output & {readonly text: () => string} {
  let written = ''
  return {
    isTTY,
    width: null,
    write: async text => void (written += String(text)),
    flush: async () => undefined,
    onClosed: () => undefined,
    ignoreClosed: () => undefined,
    text: () => written,
  }
}

describe('toErrors', () => {
  test('flags win over the plan, the plan over the defaults', () => {
    expect(toErrors({})).toEqual(DEFAULT_ERRORS)
    const plan = toErrors({'errors-tolerance': 'none', 'errors-retry-timeout': -1, 'errors-retry-delay-max': 500})
    expect(plan).toMatchObject({tolerance: 'none', retryTimeoutMs: '-1', retryDelayMaxMs: '500', log: false})
    expect(toErrors({'errors-tolerance': 'all', 'errors-log': true}, plan)).toEqual({
      ...plan,
      tolerance: 'all',
      log: true,
    })
  })

  test('a log file is a log; the address alone is none', () => {
    expect(toErrors({'errors-log-file': 'e.log'})).toMatchObject({log: true})
    expect(toErrors({'errors-log-include-messages': true})).toMatchObject({log: false, logIncludeMessages: true})
  })

  test('a pause of nothing is refused', () => {
    expect(() => toErrors({'errors-retry-delay-max': 0})).toThrow('--errors-retry-delay-max')
  })
})

test('the parking topic of the flag wins over the setting; an empty one is none', () => {
  expect(toParkingTopic(undefined, null)).toBeNull()
  expect(toParkingTopic(undefined, ' parking ')).toBe('parking')
  expect(toParkingTopic('other', 'parking')).toBe('other')
  expect(toParkingTopic('', 'parking')).toBeNull()
  expect(() => toParkingTopic('a b', null)).toThrow('--parking-topic is no legal topic name')
  expect(() => toParkingTopic(undefined, 'a/b')).toThrow('parkingTopic of the configuration')
})

describe('a log of errors', () => {
  test('in a file is appended, whole, and readable by its owner only', async () => {
    const path = join(dir, 'errors.log')
    for (let run = 0; run < 2; run++) {
      using log = fileLog(path, () => undefined, now)
      log.sink(event)
    }
    const text = await readFile(path, 'utf8')
    const once = `2025-11-30T10:53:20.000Z ERROR ${event.message} (LogReporter)\n${event.error.className}: ${HOSTILE}\n`
    expect(text).toBe(once + once)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('keeps what is in the file, and its mode', async () => {
    const path = join(dir, 'errors.log')
    await writeFile(path, 'before\n', {mode: 0o640})
    using log = fileLog(path, () => undefined, now)
    log.sink(event)
    expect(await readFile(path, 'utf8')).toMatch(/^before\n2025/)
    expect((await stat(path)).mode & 0o777).toBe(0o640)
  })

  test('that cannot be opened is an error with the reason', () => {
    expect(() => fileLog(join(dir, 'none', 'errors.log'), () => undefined, now)).toThrow(
      expect.objectContaining({code: 'E_ERRORS_LOG', message: 'the log of errors could not be opened: ENOENT'}),
    )
  })

  test.runIf(process.platform === 'linux')('on a full disk warns once and does not throw', () => {
    const warnings: string[] = []
    using log = fileLog('/dev/full', text => void warnings.push(text), now)
    for (let count = 0; count < 3; count++) log.sink(event)
    expect(warnings).toEqual(['errors are no longer logged to /dev/full: the disk is full; the run goes on'])
  })

  test('on a terminal cannot move the cursor, and takes the progress away first; in a pipe it is as it is', () => {
    for (const isTTY of [true, false]) {
      const stderr = output(isTTY)
      const progress = {clear: async () => stderr.write('<clear>')}
      using log = stderrLog(stderr, progress, now)
      log.sink(event)
      const shown = isTTY ? 'a^[[2Jb^M⏎c' : HOSTILE
      const block = isTTY ? 'a^[[2Jb\nc' : HOSTILE
      expect(stderr.text()).toBe(
        `<clear>2025-11-30T10:53:20.000Z ERROR Error encountered in task r-1-0${shown}. (LogReporter)\n${event.error.className}: ${block}\n`,
      )
    }
  })
})
