import {execFile} from 'node:child_process'
import {cp, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {afterEach, beforeEach, expect, test} from 'vitest'

const run = promisify(execFile)
const example = fileURLToPath(new URL('../../examples/file-sink-task', import.meta.url))
const entry = new URL('../../src/connect.ts', import.meta.url).href
let directory = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kdlq-file-sink-'))
  await cp(example, directory, {recursive: true})
  for (const name of (await readdir(directory)).filter(file => file.endsWith('.mjs'))) await change(name, text => text)
})

afterEach(async () => {
  await rm(directory, {recursive: true, force: true})
})

/** Change a file of the copy, which imports the sources instead of an installed kdlq. */
async function change(name: string, edit: (text: string) => string): Promise<void> {
  const file = join(directory, name)
  const text = await readFile(file, 'utf8')
  await writeFile(file, edit(text).replaceAll(/from 'kdlq\/connect'/g, `from ${JSON.stringify(entry)}`))
}

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function start(): Promise<Ended> {
  const env = {...process.env, NO_COLOR: '1'}
  try {
    const ended = await run(process.execPath, ['main.mjs'], {cwd: directory, env})
    return {code: 0, ...ended}
  } catch (error) {
    return error as Ended
  }
}

async function written(): Promise<string> {
  return readFile(join(directory, 'file-sink.txt'), 'utf8')
}

test('the file sink task writes lines, reports what is none, and commits after it, as its page says', async () => {
  const {code, stdout, stderr} = await start()
  const [, output] = /```text\n([^]*?)```/.exec(await readFile(join(directory, 'README.md'), 'utf8')) ?? []
  expect({code, stdout, stderr}).toEqual({code: 0, stdout: output, stderr: ''})
  expect(await written()).toBe('buy milk\ncall home\n')
})

test('without queue and log the first record that is no line ends the task, and nothing is committed', async () => {
  await change('main.mjs', text => text.replace("'notes-dlq'", "''"))
  const {code, stdout, stderr} = await start()
  expect({code, stdout}).toEqual({code: 1, stdout: ''})
  expect(stderr).toContain('Exiting WorkerSinkTask due to unrecoverable exception.')
  expect(stderr).toContain(
    'Caused by: org.apache.kafka.connect.errors.ConnectException: the value has more than one line',
  )
  expect(await written()).toBe('buy milk\n')
})

test('a runtime that knows no errant record reporter is met like one without', async () => {
  await change('main.mjs', text =>
    text.replace('sinkTask: new FileSinkTask()', 'sinkTask: withoutReporter(new FileSinkTask())').concat(`
function withoutReporter(task) {
  const start = task.start.bind(task)
  task.start = context => start({properties: context.properties})
  return task
}
`),
  )
  const {code, stderr} = await start()
  expect(code).toBe(1)
  expect(stderr).toContain('cannot write a record')
})
