import {execFileSync} from 'node:child_process'
import {readdirSync} from 'node:fs'
import {join, relative} from 'node:path'
import {beforeAll, describe, expect, test} from 'vitest'
import type {Case, CaseResult} from './support/cases.ts'

const root = join(import.meta.dirname, '../..')
// A relative path: errors name it, and goldens must not hold the place of a checkout.
const dlq = `./${relative(root, join(import.meta.dirname, 'fixtures/orders-dlq.ndjson'))}`
const broken = dlq.replace('orders-dlq', 'broken')
const orders = dlq.replace('orders-dlq', 'orders')

const UTF8 = {LANG: 'C.UTF-8', TERM: 'xterm-256color'}
const pipe = (name: string, argv: readonly string[], stdin?: string): Case => ({
  name,
  argv,
  columns: null,
  env: UTF8,
  ...(stdin === undefined ? {} : {stdin}),
})
const terminal = (name: string, columns: number, argv: readonly string[], env: Readonly<Record<string, string>> = UTF8): Case => ({name, argv, columns, env})

const commands = readdirSync(join(root, 'src/commands'), {recursive: true, encoding: 'utf8'})
  .filter(file => file.endsWith('.ts'))
  .map(file => file.replace(/\.ts$/, '').replaceAll('/', ' '))
  .toSorted()

const cases: readonly Case[] = [
  pipe('inspect.all.table', ['inspect', dlq]),
  pipe('inspect.all.csv', ['inspect', dlq, '-o', 'csv']),
  pipe('inspect.all.jsonl', ['inspect', dlq, '-o', 'jsonl']),
  pipe('inspect.all.json', ['inspect', dlq, '--json']),
  pipe('inspect.all.markdown', ['inspect', dlq, '-o', 'markdown']),
  pipe('inspect.wide.csv', ['inspect', dlq, '--wide', '-o', 'csv']),
  pipe('inspect.columns.table', ['inspect', dlq, '--columns', 'offset,value']),
  pipe('inspect.decode.jsonl', ['inspect', dlq, '--decode', '-o', 'jsonl', '--key', 'k-2']),
  pipe('inspect.filters.table', ['inspect', dlq, '--stage', 'TASK_PUT', '--not-exception', 'SQLException']),
  pipe('inspect.nothing.table', ['inspect', dlq, '--stage', 'KEY_CONVERTER']),
  pipe('inspect.nothing.json', ['inspect', dlq, '--stage', 'KEY_CONVERTER', '--json']),
  pipe('inspect.limit.table', ['inspect', dlq, '--limit', '2', '--columns', 'address']),
  pipe('inspect.tail.table', ['inspect', dlq, '--tail', '2', '--columns', 'address']),
  pipe('inspect.plain.table', ['inspect', orders]),
  pipe('inspect.since.table', ['inspect', dlq, '--since', '90m', '--columns', 'address,time']),
  pipe('inspect.quiet.table', ['inspect', dlq, '--quiet', '-n', '1']),
  pipe('inspect.stdin.table', ['inspect', '-', '--columns', 'address'], '{"topic":"t","partition":0,"offset":"0","key":null,"value":"v"}\n'),
  terminal('inspect.terminal80.table', 80, ['inspect', dlq]),
  terminal('inspect.terminal120.table', 120, ['inspect', dlq]),
  terminal('inspect.nocolor.table', 80, ['inspect', dlq], {...UTF8, NO_COLOR: '1'}),
  terminal('inspect.ascii.table', 80, ['inspect', dlq], {LANG: 'C', TERM: 'dumb'}),
  terminal('inspect.terminal.json', 80, ['inspect', dlq, '--json', '--stage', 'TASK_PUT']),
  pipe('inspect.broken.table', ['inspect', broken]),
  pipe('inspect.broken.json', ['inspect', broken, '--json']),
  pipe('inspect.skipbad.table', ['inspect', broken, '--skip-bad-lines', '--columns', 'address']),
  pipe('inspect.skipbad.json', ['inspect', broken, '--skip-bad-lines', '--json', '-q']),
  pipe('inspect.nocluster.table', ['inspect', 'orders-dlq']),
  pipe('inspect.badflag.table', ['inspect', dlq, '--stag', 'TASK_PUT']),
  pipe('inspect.badflag.json', ['inspect', dlq, '--stag', 'TASK_PUT', '--json']),
  pipe('inspect.badvalue.table', ['inspect', dlq, '--since', 'yesterday']),
  pipe('inspect.badcolumn.table', ['inspect', dlq, '--columns', 'adress']),
  pipe('inspect.noargument.table', ['inspect']),
  pipe('inspect.both.table', ['inspect', dlq, 'orders-dlq']),
  pipe('show.address.table', ['show', 'orders-dlq:0:1', '--archive', dlq]),
  pipe('show.address.json', ['show', 'orders-dlq:0:1', '--archive', dlq, '--json']),
  pipe('show.hops.table', ['show', 'example:orders-dlq-parked', '--where', 'failure.hops > 1']),
  pipe('show.hops.json', ['show', 'example:orders-dlq-parked', '--where', 'failure.hops > 1', '--json']),
  pipe('simulate.none.table', ['simulate', dlq, '--set', 'errors.tolerance=none']),
  pipe('simulate.compare.table', ['simulate', dlq, '--set', 'errors.tolerance=none', '--compare', 'errors.tolerance=all', '--compare', 'errors.deadletterqueue.topic.name=orders-dlq']),
  pipe('simulate.compare.json', ['simulate', dlq, '--set', 'errors.tolerance=none', '--compare', 'errors.tolerance=all', '--json']),
  pipe('simulate.decode.table', ['simulate', 'example:orders', '--decode', 'value=json', '--set', 'errors.tolerance=all', '-n', '5']),
  pipe('simulate.jsonl', ['simulate', dlq, '-o', 'jsonl']),
  pipe('simulate.badkey.table', ['simulate', dlq, '--set', 'errors.tolerence=all']),
  pipe('simulate.badvalue.table', ['simulate', dlq, '--set', 'errors.tolerance=some', '--set', 'errors.retry.timeout=1s']),
  pipe('simulate.nofile.table', ['simulate', dlq, '--connector-config', 'nowhere.json']),
  terminal('simulate.terminal80.table', 80, ['simulate', dlq, '--compare', 'errors.tolerance=all']),
  pipe('show.samekey.table', ['show', 'orders-dlq:0:1', '--archive', dlq, '--same-key']),
  pipe('show.samekey.json', ['show', 'orders-dlq:0:1', '--archive', dlq, '--same-key', '--json']),
  pipe('show.newest.table', ['show', dlq, '--stage', 'VALUE_CONVERTER']),
  pipe('show.hostile.table', ['show', 'orders-dlq:0:2', '--archive', dlq]),
  pipe('show.fullstack.table', ['show', 'orders-dlq:0:0', '--archive', dlq, '--full-stack']),
  pipe('show.tombstone.table', ['show', 'orders-dlq:0:5', '--archive', dlq]),
  pipe('show.hex.table', ['show', 'orders-dlq:1:1', '--archive', dlq, '--hex']),
  pipe('show.raw.table', ['show', 'orders-dlq:0:2', '--archive', dlq, '--raw']),
  pipe('show.missing.table', ['show', 'orders-dlq:0:3', '--archive', dlq]),
  pipe('show.missing.json', ['show', 'orders-dlq:0:1', 'orders-dlq:0:3', '--archive', dlq, '--json']),
  pipe('show.badformat.table', ['show', 'orders-dlq:0:1', '--archive', dlq, '-o', 'csv']),
  pipe('export.badformat.table', ['export', dlq, '--out', 'nowhere', '-o', 'markdown']),
  terminal('show.terminal80.table', 80, ['show', 'orders-dlq:0:2', '--archive', dlq]),
  pipe('stats.fingerprint.table', ['stats', dlq]),
  pipe('stats.stage.csv', ['stats', dlq, '--by', 'stage,exception', '-o', 'csv']),
  pipe('stats.all.json', ['stats', dlq, '--json']),
  pipe('stats.top.table', ['stats', dlq, '--top', '1']),
  pipe('stats.badword.table', ['stats', dlq, '--by', 'stag']),
  terminal('stats.terminal80.table', 80, ['stats', dlq]),
  terminal('stats.terminal120.table', 120, ['stats', dlq]),
  terminal('stats.nocolor.table', 80, ['stats', dlq], {...UTF8, NO_COLOR: '1'}),
  pipe('stats.verdict.table', ['stats', dlq, '--by', 'verdict,exception']),
  pipe('stats.wide.csv', ['stats', dlq, '--wide', '-o', 'csv']),
  pipe('stats.notbaseline.table', ['stats', dlq, '--baseline', 'package.json']),
  pipe('stats.notbaseline.json', ['stats', dlq, '--baseline', 'package.json', '--json']),
  terminal('stats.ascii.table', 80, ['stats', dlq], {LANG: 'C', TERM: 'dumb'}),
  pipe('replay.dry.table', ['replay', 'example:invoices-dlq', '--to-archive', 'replayed', '--dry-run']),
  pipe('replay.parking.table', ['replay', 'example:invoices-dlq', '--to-archive', 'replayed', '--dry-run', '--parking-topic', 'invoices-parking', '--max-attempts', '1', '--errors-tolerance', 'none', '--errors-retry-timeout', '60000', '--errors-log', '--errors-log-include-messages']),
  pipe('replay.badparking.table', ['replay', 'example:invoices-dlq', '--to-archive', 'replayed', '--parking-topic', 'not/legal']),
  pipe('replay.parkingtarget.table', ['replay', 'example:invoices-dlq', '--to-archive', 'replayed', '--parking-topic', 'invoices', '--yes']),
  pipe('replay.exactly.table', ['replay', dlq, '--ledger', 'none', '--bootstrap-server', '127.0.0.1:1']),
  pipe('runs.missing.table', ['runs', '--to-archive', 'nowhere']),
  pipe('runs.missing.json', ['runs', '--to-archive', 'nowhere', '--json']),
  pipe('runs.badid.table', ['runs', 'r-1', '--to-archive', 'nowhere']),
  pipe('resume.badid.table', ['resume', 'r-1']),
  pipe('config.list.table', ['config', 'list', '--json', '--quiet']),
  pipe('version.all.table', ['help', 'exit-codes']),
  pipe('unknown.command.table', ['inspct', dlq]),
  pipe('unknown.command.json', ['inspct', dlq, '--json']),
  pipe('completion.bash.table', ['completion', 'bash']),
  pipe('completion.zsh.table', ['completion', 'zsh']),
  pipe('completion.fish.table', ['completion', 'fish']),
  pipe('help.root.text', ['--help']),
  ...commands.map(command => pipe(`help.${command.replaceAll(' ', '-')}.text`, [...command.split(' '), '--help'])),
  terminal('help.inspect120.text', 120, ['inspect', '--help']),
]

describe('the whole program', () => {
  let results: readonly CaseResult[] = []

  beforeAll(() => {
    const output = execFileSync(join(root, 'node_modules/.bin/node'), [join(import.meta.dirname, 'support/run-cases.ts')], {
      cwd: root,
      input: JSON.stringify(cases),
      env: {PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_ENV: 'production', TZ: 'UTC'},
      maxBuffer: 64 * 1024 * 1024,
    })
    results = JSON.parse(output.toString('utf8')) as CaseResult[]
  }, 60_000)

  test.each(cases.map(({name}, index) => [name, index] as const))('%s', async (name, index) => {
    const result = results[index]
    expect(result).toBeDefined()
    const file = (stream: string): string => `./files/${name}.${stream}`
    await expect(result?.stdout).toMatchFileSnapshot(file('stdout'))
    await expect(result?.stderr).toMatchFileSnapshot(file('stderr'))
    await expect(`${result?.code}\n`).toMatchFileSnapshot(file('exit'))
  })

  test('no output for a terminal holds a control character that is not a colour or a line end', () => {
    const colours = /\u001b\[(?:\d+(?:;\d+)*)?m/g
    const dangerous = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/
    const wrong = cases.filter(({columns}, index) => {
      const text = `${results[index]?.stdout ?? ''}${results[index]?.stderr ?? ''}`
      return columns !== null && dangerous.test(text.replaceAll(colours, ''))
    })
    expect(wrong.map(({name}) => name)).toEqual([])
  })

  test('the same exit code in every output mode', () => {
    const code = (name: string): number | undefined => results[cases.findIndex(one => one.name === name)]?.code
    expect(code('inspect.badflag.json')).toBe(code('inspect.badflag.table'))
    expect(code('inspect.broken.json')).toBe(code('inspect.broken.table'))
    expect(code('show.missing.json')).toBe(code('show.missing.table'))
    expect(code('unknown.command.json')).toBe(code('unknown.command.table'))
  })

  test('[BR-74] nothing found is said and is a success', () => {
    const index = cases.findIndex(({name}) => name === 'inspect.nothing.table')
    expect(results[index]).toMatchObject({code: 0, stderr: '0 of 6 records match\n'})
  })
})
