import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import fc from 'fast-check'
import {expect, test} from 'vitest'
import {LedgerContents} from '../../src/lib/replay/ledger/contents.ts'
import {formatLedgerLine, parseLedgerLines} from '../../src/lib/replay/ledger/file-lines.ts'
import {openFileLedger, readFileLedger} from '../../src/lib/replay/ledger/file-ledger.ts'
import {entryKey, parseLedgerKey} from '../../src/lib/replay/ledger/names.ts'
import {parseEntry} from '../../src/lib/replay/ledger/parse.ts'
import {claimRecord, entryRecord, layoutRecord, statusRecord} from '../../src/lib/replay/ledger/records.ts'
import {LEDGER_STATES} from '../../src/lib/replay/ledger/types.ts'
import type {LedgerEntry, LedgerRecord} from '../../src/lib/replay/ledger/types.ts'
import {runs} from '../support/runs.ts'
import {entryOf, partitionOf, RUN_A} from '../unit/replay/ledger/support.ts'

const int64 = fc.bigInt({min: 0n, max: 2n ** 63n - 1n})
const int32 = fc.integer({min: 0, max: 2 ** 31 - 1})
const name = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9._-]{1,30}$/),
  fc.string({minLength: 1, maxLength: 30, unit: 'grapheme'}),
)
const run = fc.stringMatching(/^[A-Za-z0-9._-]{1,40}$/)
const text = fc.option(fc.string({maxLength: 60, unit: 'binary'}).map(value => value.toWellFormed()))

const entry: fc.Arbitrary<LedgerEntry> = fc.record({
  source: fc.record({
    clusterId: fc.option(name),
    topicId: fc.option(fc.stringMatching(/^[A-Za-z0-9_-]{22}$/)),
    topic: name,
    partition: int32,
    offset: int64,
  }),
  run,
  state: fc.constantFrom(...LEDGER_STATES),
  origin: fc.option(fc.record({topic: fc.string(), partition: fc.option(int32), offset: fc.option(int64)})),
  target: fc.option(
    fc.record({topic: fc.string(), partition: int32, offset: fc.option(int64), clusterId: fc.option(fc.string())}),
  ),
  sha256: fc.uint8Array({minLength: 32, maxLength: 32}).map(bytes => Buffer.from(bytes)),
  attempt: fc.integer({min: 0, max: 65_535}),
  by: text,
  at: int64,
  reason: text,
  scanFrom: fc.option(int64),
})

function parsed({key, value}: Pick<LedgerRecord, 'key' | 'value'>): LedgerEntry | null {
  const named = parseLedgerKey(key)
  return named?.kind === 'entry' && value !== null ? parseEntry(named, Buffer.from(value)) : null
}

test('an entry is read back as it was written, from a topic and from a file', () => {
  fc.assert(
    fc.property(entry, one => {
      const record = entryRecord(one)
      expect(parsed(record)).toEqual(one)
      const [line] = parseLedgerLines(Buffer.from(formatLedgerLine(record)))
      expect(line?.record === null || line === undefined ? null : parsed(line.record)).toEqual(one)
    }),
  )
})

test('different addresses and runs have different keys', () => {
  fc.assert(
    fc.property(entry, entry, (one, two) => {
      const same =
        JSON.stringify({...one.source, offset: `${one.source.offset}`, run: one.run}) ===
        JSON.stringify({...two.source, offset: `${two.source.offset}`, run: two.run})
      expect(
        entryKey(one.source, one.source.offset, one.run) === entryKey(two.source, two.source.offset, two.run),
      ).toBe(same)
    }),
  )
})

test('no bytes as key and value make a reader throw', () => {
  const contents = new LedgerContents({documentOf: RUN_A})
  const key = fc.oneof(
    fc.string(),
    fc.constantFrom('meta|layout', `run|${RUN_A}|0`, `run|${RUN_A}|1`, `run|${RUN_A}|status`, `claim|-|t:0|${RUN_A}`),
    fc.constant(entryKey(partitionOf(), 1n, RUN_A)),
  )
  const value = fc.oneof(
    fc.uint8Array().map(bytes => Buffer.from(bytes)),
    fc.json().map(json => Buffer.from(json)),
    fc
      .dictionary(fc.constantFrom('state', 'run', 'at', 'by', 'target', 'origin', 'counts', 'sha256'), fc.jsonValue())
      .map(json => Buffer.from(JSON.stringify({...json, v: 1}))),
  )
  fc.assert(
    fc.property(key, fc.option(value), int64, (name, bytes, offset) => {
      contents.add(Buffer.from(name), bytes, offset)
    }),
  )
  expect(contents.records).toBeGreaterThan(0)
})

test('a ledger file that is torn at any byte reads as the whole lines before it, and goes on', async () => {
  const records = [
    layoutRecord(1),
    entryRecord(entryOf(1n, {reason: 'grüße'})),
    {route: RUN_A, key: `run|${RUN_A}|1`, value: Buffer.from('{"plan":{}}')},
    claimRecord({source: partitionOf(), run: RUN_A, by: null, at: 1n}),
    entryRecord(entryOf(2n)),
    statusRecord({run: RUN_A, state: 'completed', at: 2n, by: null, reason: null, counts: {}}),
  ]
  const whole = Buffer.from(records.map(formatLedgerLine).join(''))
  const every = Math.ceil(whole.length / runs(whole.length))
  const directory = await mkdtemp(join(tmpdir(), 'kdlq-torn-'))
  const path = join(directory, 'ledger.ndjson')
  const lock = {self: {pid: 1, host: 'here', stamp: null}, isRunning: () => true}
  try {
    for (let length = 0; length <= whole.length; length++) {
      const isLineEnd = whole[length - 1] === 10 || whole[length] === 10
      if (!isLineEnd && length % every !== 0) continue
      const lines = whole.subarray(0, length).toString('latin1').split('\n').length - 1
      await writeFile(path, whole.subarray(0, length))
      const {contents, size} = await readFileLedger(path)
      expect([length, contents.records, contents.unreadable]).toEqual([length, lines, 0])
      expect(size).toBe(whole.subarray(0, length).lastIndexOf(10) + 1)
      // Opening and syncing for every byte is slow: the lines' ends, and one byte around them.
      if (!isLineEnd && length % 97 !== 0) continue
      const ledger = await openFileLedger(path, lock, {create: false})
      await ledger.append([entryRecord(entryOf(9n))])
      await ledger.close()
      const after = await readFileLedger(path)
      expect([length, after.contents.unreadable, after.contents.records]).toEqual([length, 0, Math.max(lines, 1) + 1])
    }
  } finally {
    await rm(directory, {recursive: true, force: true})
  }
})
