import {mkdtemp, readdir, readFile, rm, stat, writeFile, appendFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {openArchive} from '../../../../src/lib/kafka/archive/archive-cluster.ts'
import {
  ARCHIVE_LEDGER,
  cutArchive,
  markRecord,
  measureFiles,
  truncateToMark,
} from '../../../../src/lib/replay/ledger/archive-mark.ts'
import {openFileLedger, readFileLedger} from '../../../../src/lib/replay/ledger/file-ledger.ts'
import type {FileLedger} from '../../../../src/lib/replay/ledger/file-ledger.ts'
import type {LockDeps, LockOwner} from '../../../../src/lib/replay/ledger/file-lock.ts'
import {lockFile} from '../../../../src/lib/replay/ledger/file-lock.ts'
import {claimRecord, entryRecord, statusRecord} from '../../../../src/lib/replay/ledger/records.ts'
import {entryOf, partitionOf, recordOf, REF, RUN_A, RUN_B} from './support.ts'

let directory: string
let path: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kdlq-ledger-test-'))
  path = join(directory, 'ledger.ndjson')
})

afterEach(async () => {
  await rm(directory, {recursive: true, force: true})
})

function locker(pid: number, running: readonly number[] = [1, 2], host = 'here'): LockDeps {
  return {self: {pid, host, stamp: null}, isRunning: (owner: LockOwner) => running.includes(owner.pid)}
}

function open(create = true, deps: LockDeps = locker(1)): Promise<FileLedger> {
  return openFileLedger(path, deps, {create})
}

describe('a ledger file', () => {
  test('keeps what was appended, as one JSON object a line', async () => {
    await using ledger = await open()
    await ledger.append([
      entryRecord(entryOf(1n, {reason: 'two\nlines'})),
      {route: RUN_A, key: `run|${RUN_A}|1`, value: Buffer.from('{"plan"')},
    ])
    await ledger.append([entryRecord(entryOf(2n, {state: 'failed'}))])
    const lines = (await readFile(path, 'utf8')).split('\n')
    expect(lines).toHaveLength(5)
    expect(JSON.parse(lines[0] ?? '')).toEqual({key: 'meta|layout', value: {v: 1, partitions: 1}})
    expect(JSON.parse(lines[2] ?? '')).toEqual({key: `run|${RUN_A}|1`, value: '{"plan"'})
    const {contents, size} = await readFileLedger(path, {documentOf: RUN_A})
    expect(contents.index.handled(recordOf(1n), REF)).toMatchObject({state: 'replayed', reason: 'two\nlines'})
    expect(contents.index.handled(recordOf(2n), REF)).toMatchObject({state: 'failed'})
    expect(contents.pieces.get(1)?.toString()).toBe('{"plan"')
    expect([size, contents.unreadable]).toEqual([(await stat(path)).size, 0])
  })

  test('that is missing is a refusal unless it may be made', async () => {
    await expect(open(false)).rejects.toMatchObject({code: 'E_NO_LEDGER', exitCode: 6})
    await expect(readFileLedger(path)).rejects.toMatchObject({code: 'E_NO_LEDGER'})
    expect(await readdir(directory)).toEqual([])
  })

  test.each([
    '{"topic":"orders-dlq","offset":"1"}\n',
    'hello',
    '{"key":"meta|layout","value":{"v":2,"partitions":1}}\n',
  ])('that is something else (%j) is left alone', async text => {
    await writeFile(path, text)
    await expect(open()).rejects.toMatchObject({code: 'E_LEDGER_LAYOUT', exitCode: 2})
    expect(await readFile(path, 'utf8')).toBe(text)
    expect(await readdir(directory)).toEqual(['ledger.ndjson'])
  })

  test('a torn last line is left out when read, and cut by the next write', async () => {
    await using first = await open()
    await first.append([entryRecord(entryOf(1n))])
    await first.close()
    await appendFile(path, `{"key":"${'torn'.repeat(2000)}`)
    await using second = await open()
    expect([second.contents.index.size, second.contents.unreadable]).toEqual([1, 0])
    await second.append([entryRecord(entryOf(2n))])
    const {contents} = await readFileLedger(path)
    expect([contents.index.size, contents.unreadable]).toEqual([2, 0])
  })

  test('broken lines in the middle are counted', async () => {
    await using first = await open()
    await first.append([entryRecord(entryOf(1n))])
    await appendFile(path, 'garbage\n{"key":7,"value":{}}\n[]\n\0\0\n')
    const {contents} = await readFileLedger(path)
    expect([contents.index.size, contents.unreadable]).toEqual([1, 4])
  })

  test('a line longer than what is read at once is whole', async () => {
    await using ledger = await open()
    const piece = Buffer.alloc(3_000_000, 'x')
    await ledger.append([{route: RUN_A, key: `run|${RUN_A}|1`, value: piece}, entryRecord(entryOf(1n))])
    const {contents} = await readFileLedger(path, {documentOf: RUN_A})
    expect(contents.pieces.get(1)?.length).toBe(3_000_000)
    expect(contents.index.size).toBe(1)
  })

  test('closing twice is fine, writing after it is a bug', async () => {
    const ledger = await open()
    await ledger.close()
    await ledger.close()
    await expect(ledger.append([entryRecord(entryOf(1n))])).rejects.toMatchObject({code: 'E_BUG'})
  })
})

describe('the lock', () => {
  test('keeps a second process out, and is gone with the first', async () => {
    const ledger = await open(true, locker(1))
    await expect(open(true, locker(2))).rejects.toMatchObject({code: 'E_LEDGER_LOCKED', exitCode: 6, context: {pid: 1}})
    await ledger.close()
    await using second = await open(true, locker(2))
    expect(second.size).toBe(0)
  })

  test('of a process that was killed is taken over', async () => {
    await writeFile(`${path}.lock`, JSON.stringify({pid: 77, host: 'here', stamp: null}))
    await using ledger = await open(true, locker(2))
    await expect(open(true, locker(1))).rejects.toMatchObject({context: {pid: 2}})
    await ledger.close()
    expect(await readdir(directory)).toEqual(['ledger.ndjson'])
  })

  test('of another host, or one that says nothing, is not judged', async () => {
    await writeFile(`${path}.lock`, JSON.stringify({pid: 77, host: 'elsewhere', stamp: null}))
    await expect(open()).rejects.toMatchObject({code: 'E_LEDGER_LOCKED', context: {host: 'elsewhere'}})
    await writeFile(`${path}.lock`, 'what?')
    await expect(open()).rejects.toMatchObject({code: 'E_LEDGER_LOCKED', context: {pid: null}})
  })

  test('of twenty that find one stale lock exactly one gets it', async () => {
    await writeFile(`${path}.lock`, JSON.stringify({pid: 77, host: 'here', stamp: null}))
    const pids = Array.from({length: 20}, (_, index) => 100 + index)
    const tries = await Promise.allSettled(pids.map(pid => lockFile(path, locker(pid, pids))))
    expect(tries.filter(({status}) => status === 'fulfilled')).toHaveLength(1)
    expect(await readdir(directory)).toEqual(['ledger.ndjson.lock'])
  })

  test('is not needed to read', async () => {
    await using ledger = await open()
    await ledger.append([entryRecord(entryOf(1n))])
    await expect(readFileLedger(path)).resolves.toMatchObject({size: ledger.size})
  })
})

describe('chunk marks of an archive', () => {
  const names = ['orders.ndjson', 'payments.ndjson']

  test('a killed chunk is cut off archive and ledger', async () => {
    path = join(directory, ARCHIVE_LEDGER)
    await using ledger = await open()
    await ledger.append([markRecord({run: RUN_A, chunk: 0, files: await measureFiles(directory, names)})])
    await writeFile(join(directory, 'orders.ndjson'), '{"line":1}\n')
    const files = await measureFiles(directory, names)
    await ledger.append([entryRecord(entryOf(1n)), markRecord({run: RUN_A, chunk: 1, files})])
    // The next chunk: archive written (a new file too), then killed within the lines of the ledger.
    await appendFile(join(directory, 'orders.ndjson'), '{"line":2}\n{"li')
    await writeFile(join(directory, 'payments.ndjson'), '{"line":1}\n')
    await ledger.append([entryRecord(entryOf(2n))])
    await ledger.close()

    const opened = await open(false)
    const placed = opened.marks.get(RUN_A)
    expect(placed?.mark).toEqual({run: RUN_A, chunk: 1, files: {'orders.ndjson': 11, 'payments.ndjson': null}})
    if (placed === undefined) throw new Error('no mark')
    expect(await truncateToMark(directory, placed.mark)).toBe(26)
    await opened.truncate(placed.end)
    await opened.close()
    expect((await readdir(directory)).toSorted()).toEqual([ARCHIVE_LEDGER, 'orders.ndjson'])
    expect(await readFile(join(directory, 'orders.ndjson'), 'utf8')).toBe('{"line":1}\n')
    const {contents} = await readFileLedger(path)
    expect(contents.index.size).toBe(1)
    expect(await truncateToMark(directory, placed.mark)).toBe(0)
  })

  test('what another run wrote since is not cut when a killed run is resumed', async () => {
    path = join(directory, ARCHIVE_LEDGER)
    const orders = join(directory, 'orders.ndjson')
    const mark = async (run: string, chunk: number) =>
      markRecord({run, chunk, files: await measureFiles(directory, names)})
    let ledger = await open()
    await ledger.append([await mark(RUN_A, 0)])
    await appendFile(orders, 'a1\n')
    await ledger.append([entryRecord(entryOf(1n)), await mark(RUN_A, 1)])
    await appendFile(orders, 'a2\na')
    await ledger.close()

    ledger = await open()
    expect([await cutArchive(directory, ledger), ledger.isTorn]).toEqual([false, false])
    await ledger.append([await mark(RUN_B, 0)])
    await appendFile(orders, 'b1\n')
    await ledger.append([entryRecord(entryOf(5n, {run: RUN_B})), await mark(RUN_B, 1)])
    await ledger.append([statusRecord({run: RUN_B, state: 'completed', at: 1n, by: null, reason: null, counts: {}})])
    await ledger.close()

    ledger = await open()
    const {size} = ledger
    expect(await cutArchive(directory, ledger)).toBe(false)
    expect([ledger.size, ledger.contents.run(RUN_B).status?.state]).toEqual([size, 'completed'])
    expect(await readFile(orders, 'utf8')).toBe('a1\nb1\n')
    await ledger.close()
  })

  test('a beginning or chunk without its mark is cut, down to an empty ledger', async () => {
    path = join(directory, ARCHIVE_LEDGER)
    await using first = await open()
    await first.append([claimRecord({source: partitionOf(), run: RUN_A, by: null, at: 1n})])
    await first.close()
    await using second = await open()
    expect([second.isTorn, await cutArchive(directory, second)]).toEqual([true, true])
    await second.close()
    await using third = await open()
    expect([third.size, third.contents.claims, await cutArchive(directory, third)]).toEqual([0, [], false])
    await third.append([markRecord({run: RUN_B, chunk: 0, files: {}})])
    const {size} = third
    await third.append([entryRecord(entryOf(1n))])
    await third.close()
    await using fourth = await open()
    expect(await cutArchive(directory, fourth)).toBe(true)
    expect([fourth.size, (await stat(path)).size]).toEqual([size, size])
  })

  test('files that are shorter than the ledger says are not touched', async () => {
    await writeFile(join(directory, 'orders.ndjson'), 'longer than said')
    const mark = {run: RUN_A, chunk: 3, files: {'orders.ndjson': 4, 'payments.ndjson': 10}}
    await expect(truncateToMark(directory, mark)).rejects.toMatchObject({code: 'E_ARCHIVE_SHORT'})
    expect(await readFile(join(directory, 'orders.ndjson'), 'utf8')).toBe('longer than said')
  })

  test('a mark that reaches outside of the directory is none', async () => {
    await using ledger = await open()
    const bad = ['../x', '..', 'a/b', 'a\\b'].map(name => markRecord({run: RUN_B, chunk: 1, files: {[name]: 0}}))
    await ledger.append([...bad, {route: null, key: `mark|${RUN_B}`, value: '{"v":1,"chunk":-1,"files":{}}'}])
    expect((await readFileLedger(path)).marks.size).toBe(0)
  })

  test('an archive is read without its ledger, whole or torn, but with a topic of that name', async () => {
    const line = '{"topic":"orders","partition":0,"offset":"0","timestamp":null,"key":null,"value":"v","headers":[]}\n'
    await writeFile(join(directory, 'orders.ndjson'), line)
    path = join(directory, ARCHIVE_LEDGER)
    const ledger = await open()
    await ledger.append([statusRecord({run: RUN_A, state: 'completed', at: 1n, by: null, reason: null, counts: {}})])
    await ledger.close()
    expect(await topicsOf(directory)).toEqual(['orders'])
    await writeFile(path, '{"key":"me')
    expect(await topicsOf(directory)).toEqual(['orders'])
    await writeFile(path, line.replace('"topic":"orders"', '"topic":"kdlq-ledger"'))
    expect(await topicsOf(directory)).toEqual(['kdlq-ledger', 'orders'])
  })
})

async function topicsOf(archive: string): Promise<readonly string[]> {
  await using cluster = await openArchive(archive)
  return (await cluster.reader.topics(null)).map(({name}) => name).toSorted()
}
