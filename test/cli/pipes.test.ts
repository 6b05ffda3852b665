import {watch} from 'node:fs'
import {mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {createServer} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {bash, dev, fixture, kdlq, node, start} from './support/kdlq.ts'

let folder = ''
let large = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-pipes-'))
  large = join(folder, 'large.ndjson')
  const line = (offset: number): string =>
    JSON.stringify({topic: 'orders-dlq', partition: 0, offset: `${offset}`, key: null, value: 'x'.repeat(100)})
  const last = '{"topic":"orders-dlq","partition":0,"offset":"60000","key":null,"value":"v","headers":[["last",""]]}'
  await writeFile(large, `${[...Array.from({length: 60_000}, (_, index) => line(index)), last].join('\n')}\n`)
})

afterAll(async () => rm(folder, {recursive: true, force: true}))

describe('pipes', () => {
  test('a reader that has enough ends the run with success and without a word', async () => {
    const {stdout, stderr, code} = await bash(
      `$KDLQ inspect ${large} -o jsonl | head -n 1 | wc -l; echo "\${PIPESTATUS[0]}"`,
    )
    expect({stdout: stdout.trim().split(/\s+/), code}).toEqual({stdout: ['1', '0'], code: 0})
    expect(stderr).not.toContain('error')
  })

  test('every record arrives when the reader is slow', async () => {
    const {stdout} = await bash(`$KDLQ inspect ${large} -o jsonl -q | (sleep 0.5; wc -l)`)
    expect(stdout.trim()).toBe('60001')
  })

  test('[BR-41] a match at the far end is found; what was read is told', async () => {
    const {stdout, stderr, code} = await kdlq(['inspect', large, '--header', 'last', '--columns', 'address'])
    expect({stdout, code}).toEqual({stdout: 'ADDRESS\norders-dlq:0:60000\n', code: 0})
    expect(stderr).toBe('1 of 60,001 records match\n')
  })

  test('jsonl goes through a pipe into kdlq again', async () => {
    const {stdout, code} = await bash(`$KDLQ inspect ${fixture} -o jsonl -q | $KDLQ inspect - -o jsonl -q`)
    const direct = await kdlq(['inspect', fixture, '-o', 'jsonl', '-q'])
    expect({stdout, code}).toEqual({stdout: direct.stdout, code: 0})
  })

  test('a missing source is not read from stdin', async () => {
    const {code, stderr} = await kdlq(['inspect'], {stdin: 'orders-dlq\n'})
    expect(code).toBe(2)
    expect(stderr).toContain('missing argument SOURCE')
  })

  test('a closed stdin, stdout or stderr is no crash', async () => {
    expect(await bash(`$KDLQ inspect - <&-`)).toMatchObject({code: 0})
    expect(await bash(`$KDLQ inspect ${fixture} >&-`)).toMatchObject({code: 0})
    expect(await bash(`$KDLQ inspect ${fixture} -n 1 2>&-`)).toMatchObject({code: 0})
  })

  test('a full disk behind stdout is exit 1 and one clear line; behind stderr it changes nothing', async () => {
    const out = await bash(`$KDLQ inspect ${fixture} -o jsonl -q > /dev/full`)
    expect(out).toMatchObject({code: 1, stderr: 'error: the output could not be written (the disk is full)\n'})
    const json = await bash(`$KDLQ inspect ${fixture} --json -q > /dev/full`)
    expect(json).toMatchObject({code: 1, stderr: 'error: the output could not be written (the disk is full)\n'})
    const help = await bash('$KDLQ help > /dev/full')
    expect(help).toMatchObject({code: 1, stderr: 'error: the output could not be written (the disk is full)\n'})
    const talk = await bash(`$KDLQ inspect ${fixture} -n 1 --columns address 2> /dev/full`)
    expect(talk).toMatchObject({code: 0, stdout: 'ADDRESS\norders-dlq:0:0\n'})
  })

  test('a command that writes goes on without a reader and tells its own exit code', async () => {
    const target = join(folder, 'written')
    const {stdout} = await bash(
      `$KDLQ replay example:orders-dlq --to-archive ${target} --yes -q | true; echo "\${PIPESTATUS[0]}"`,
    )
    expect(stdout).toBe('0\n')
    const records = async (source: string): Promise<number> =>
      (await kdlq(['inspect', source, '-o', 'jsonl', '-q'])).stdout.split('\n').length - 1
    expect(await records(target)).toBe(await records('example:orders-dlq'))
  })

  test('an archive may be a pipe with a path: /dev/stdin, process substitution, gzip too', async () => {
    const direct = await kdlq(['inspect', fixture, '-o', 'jsonl', '-q'])
    for (const line of [
      `cat ${fixture} | $KDLQ inspect /dev/stdin -o jsonl -q`,
      `$KDLQ inspect <(cat ${fixture}) -o jsonl -q`,
      `$KDLQ inspect <(gzip -c ${fixture}) -o jsonl -q`,
      `$KDLQ inspect <(head -c 2 ${fixture}; sleep 0.2; tail -c +3 ${fixture}) -o jsonl -q`,
    ]) {
      expect(await bash(line)).toEqual({code: 0, signal: null, stdout: direct.stdout, stderr: ''})
    }
    expect(await bash('$KDLQ inspect <(true) -o jsonl -q')).toMatchObject({code: 0, stdout: ''})
  })

  test('a file that cannot be written whole leaves the old one, and nothing beside it', async () => {
    const out = join(folder, 'full')
    await mkdir(out)
    await writeFile(join(out, 'old.json'), 'old')
    // No file may grow beyond 0 bytes: what a full disk does, without one.
    const full = `trap '' XFSZ; ulimit -f 0; $KDLQ`
    const lines = [
      `${full} stats ${fixture} --save-baseline ${join(out, 'old.json')}`,
      `${full} stats ${fixture} --save-baseline ${join(out, 'new.json')}`,
      `export XDG_CONFIG_HOME=${out}; ${full} config init --bootstrap-server localhost:9092`,
      `${full} export ${fixture} --out ${join(out, 'a.ndjson')}`,
      `${full} export ${fixture} --split --out ${join(out, 'deep', 'dir')}`,
    ]
    for (const line of lines) {
      const {code, stdout, stderr} = await bash(line)
      expect({line, code, stdout}).toEqual({line, code: 1, stdout: ''})
      expect(stderr).toMatch(/^error: .*could not be written/)
    }
    expect((await readdir(out, {recursive: true})).filter(name => name !== 'kdlq')).toEqual(['old.json'])
    expect(await readdir(join(out, 'kdlq'))).toEqual([])
    expect(await readFile(join(out, 'old.json'), 'utf8')).toBe('old')
  })

  test('no room to unpack an archive is told as that', async () => {
    const packed = join(folder, 'packed.ndjson.gz')
    await bash(`gzip -c ${fixture} > ${packed}`)
    const {code, stderr} = await bash(`TMPDIR=/nonexistent/tmp $KDLQ inspect ${packed}`)
    expect(code).toBe(1)
    expect(stderr).toContain('error: packed.ndjson.gz could not be unpacked into a temporary file (ENOENT)')
    expect(stderr).toContain('hint: set TMPDIR')
  })

  test('stdout holds data only, and no colour, also with errors', async () => {
    const {stdout, stderr, code} = await kdlq(['inspect', fixture, '--stage', 'NO_STAGE', '-o', 'csv'])
    expect({stdout, code}).toEqual({stdout: '', code: 2})
    expect(stderr).not.toContain('\u001b')
  })

  test('FORCE_COLOR colours a pipe, NO_COLOR wins', async () => {
    const colour = await kdlq(['inspect', fixture, '-n', '1'], {env: {FORCE_COLOR: '1'}})
    const none = await kdlq(['inspect', fixture, '-n', '1'], {env: {FORCE_COLOR: '1', NO_COLOR: 'x'}})
    expect([colour.stdout.includes('\u001b[36m'), none.stdout.includes('\u001b')]).toEqual([true, false])
  })

  test('a variable stands for a flag and is named when it is wrong', async () => {
    const {code, stderr} = await kdlq(['inspect', fixture], {env: {KDLQ_TIMEOUT: 'soon'}})
    expect(code).toBe(2)
    expect(stderr).toContain('KDLQ_TIMEOUT')
  })

  test('nothing is left of an interrupted export', async () => {
    const out = join(folder, 'interrupted')
    await mkdir(out)
    const begun = Promise.withResolvers<void>()
    const watcher = watch(out, () => begun.resolve())
    const {child, ended} = start(node, [dev, 'export', large, '--out', join(out, 'a.ndjson.zst')])
    await begun.promise
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({code: 143})
    watcher.close()
    expect(await readdir(out)).toEqual([])
  })

  test('an export is an archive of the same records', async () => {
    const out = join(folder, 'copy.ndjson.gz')
    expect(await kdlq(['export', fixture, '--out', out])).toMatchObject({code: 0})
    const copy = await kdlq(['inspect', out, '-o', 'jsonl', '-q'])
    const direct = await kdlq(['inspect', fixture, '-o', 'jsonl', '-q'])
    expect(copy.stdout).toBe(direct.stdout)
    expect(await kdlq(['export', fixture, '--out', out])).toMatchObject({code: 6})
    expect((await readFile(out)).length).toBeGreaterThan(100)
  })
})

describe('signals', () => {
  /** A broker that takes connections and never answers. */
  async function silentBroker(): Promise<{readonly address: string; readonly connected: Promise<void>; close(): void}> {
    const connected = Promise.withResolvers<void>()
    const sockets = new Set<{destroy(): void}>()
    const server = createServer(socket => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('data', () => connected.resolve())
    })
    await new Promise<void>(resolve => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const address = server.address()
    return {
      address: typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : '',
      connected: connected.promise,
      close: () => {
        for (const socket of sockets) socket.destroy()
        server.close()
      },
    }
  }

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s settles within two seconds although the broker does not answer', async (signal, code) => {
    const broker = await silentBroker()
    const {child, ended} = start(node, [dev, 'inspect', 'orders-dlq', '-b', broker.address, '--timeout', '60s'])
    await broker.connected
    const startedAt = performance.now()
    child.kill(signal)
    const result = await ended
    broker.close()
    expect(result).toMatchObject({code, stdout: ''})
    expect(result.stderr).toContain(`stopped by ${signal}`)
    expect(performance.now() - startedAt).toBeLessThan(2500)
  })

  test('the second signal leaves at once', async () => {
    const broker = await silentBroker()
    const {child, ended} = start(node, [dev, 'inspect', 'orders-dlq', '-b', broker.address, '--timeout', '60s'])
    await broker.connected
    child.kill('SIGINT')
    child.kill('SIGTERM')
    const {code} = await ended
    broker.close()
    expect([130, 143]).toContain(code)
  })

  test('a broker that does not answer is exit 5 after the timeout', async () => {
    const broker = await silentBroker()
    const result = await kdlq(['inspect', 'orders-dlq', '-b', broker.address, '--timeout', '300ms', '--json'])
    broker.close()
    expect(result.code).toBe(5)
    expect((JSON.parse(result.stdout) as {error: {exitCode: number}}).error.exitCode).toBe(5)
  })
})
