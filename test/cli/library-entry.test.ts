import {execFile} from 'node:child_process'
import {promisify} from 'node:util'
import {expect, test} from 'vitest'

const run = promisify(execFile)

/** Every module that a fresh process loads for importing this file. */
async function modulesLoadedBy(file: string): Promise<string[]> {
  const script = `
    import {registerHooks} from 'node:module'
    const loaded = []
    registerHooks({load(url, context, next) { loaded.push(url); return next(url, context) }})
    await import(process.argv[1])
    process.stdout.write(JSON.stringify(loaded))`
  const {stdout} = await run(process.execPath, ['--input-type=module', '--eval', script, file])
  return JSON.parse(stdout) as string[]
}

test.each(['index', 'connect'])(
  'kdlq/%s loads no Kafka client, nothing of the program, and no package at all',
  async name => {
    const entry = new URL(`../../src/${name}.ts`, import.meta.url).href
    const loaded = await modulesLoadedBy(entry)
    expect(loaded).toContain(entry)
    expect(loaded.filter(url => url.includes('node_modules'))).toEqual([])
    expect(loaded.filter(url => /kafkajs|oclif|\/lib\/(cli|render|replay)\/|\/commands\//.test(url))).toEqual([])
  },
)

test('the check sees a package that is loaded', async () => {
  const loaded = await modulesLoadedBy(new URL('../../node_modules/chalk/source/index.js', import.meta.url).href)
  expect(loaded.filter(url => url.includes('node_modules')).length).toBeGreaterThan(0)
})

test('the library entry decodes a dead letter', async () => {
  const {createDeadLetter} = await import('../../src/index.ts')
  const deadLetter = createDeadLetter({
    topic: 'orders-dlq',
    partition: 0,
    offset: 1n,
    timestamp: null,
    timestampType: 'CreateTime',
    key: null,
    value: null,
    headers: [{name: Buffer.from('__connect.errors.stage'), value: Buffer.from('TASK_PUT')}],
  })
  expect(deadLetter.failure).toEqual({dialect: 'connect', stage: 'TASK_PUT'})
})
