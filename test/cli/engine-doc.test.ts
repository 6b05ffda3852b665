import {execFile} from 'node:child_process'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {afterAll, beforeAll, expect, test} from 'vitest'

const run = promisify(execFile)
const page = new URL('../../docs/engine.md', import.meta.url)
const entry = new URL('../../src/connect.ts', import.meta.url).href
let directory = ''

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kdlq-engine-doc-'))
})

afterAll(async () => {
  await rm(directory, {recursive: true, force: true})
})

test('the example of docs/engine.md prints what the page says', async () => {
  const text = await readFile(page, 'utf8')
  const [, code, output] = /```ts\n([^]*?)```\n\n```text\n([^]*?)```/.exec(text) ?? []
  expect(code).toContain("from 'kdlq/connect'")
  const file = join(directory, 'example.ts')
  await writeFile(file, (code ?? '').replaceAll("'kdlq/connect'", JSON.stringify(entry)))
  const {stdout} = await run(process.execPath, [file], {env: {...process.env, NO_COLOR: '1'}})
  expect(stdout).toBe(output)
})
