import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {readVerdictFile} from '../../../src/lib/cli/verdict-file.ts'
import {createJudge} from '../../../src/lib/dead-letter/verdict.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kdlq-verdicts-'))
})
afterAll(() => rm(folder, {recursive: true, force: true}))

async function read(text: string): ReturnType<typeof readVerdictFile> {
  const path = join(folder, 'verdicts.yaml')
  await writeFile(path, text)
  return readVerdictFile(path)
}

test('rules go before the built-in ones, patterns are searched', async () => {
  const rules = await read(`
- verdict: never
  reason: retired
  exception: [com.acme.*, NullPointerException]
  message: '^old [a-z]+'
- verdict: transient
  stage: TASK_PUT
`)
  const judge = createJudge(rules)
  const of = (name: string, message: string, stage = 'TASK_POLL') =>
    judge({fingerprint: null, failure: {dialect: 'connect', stage, exception: {class: name, message}}})
  expect(of('com.acme.X', 'old thing')).toEqual({verdict: 'never', reason: 'retired'})
  expect(of('java.lang.NullPointerException', 'new')?.verdict).toBe('needs-fix')
  expect(of('q.Q', 'new', 'TASK_PUT')).toEqual({verdict: 'transient', reason: 'by your own rule'})
})

test('JSON is read too, and an empty file has no rules', async () => {
  expect(await read('[{"verdict":"never","fingerprint":"f-1"}]')).toEqual([
    {verdict: 'never', reason: 'by your own rule', fingerprints: ['f-1']},
  ])
  expect(await read('')).toEqual([])
})

test.each([
  ['a: [', 'neither YAML nor JSON'],
  ['verdict: never', 'a list of rules is expected'],
  ['- x', 'rule 1: a map of keys is expected'],
  ['- {verdict: maybe, stage: A}', 'rule 1: verdict has to be one of transient, needs-fix, never'],
  ['- {verdict: never, stage: A}\n- {verdict: never, stages: A}', 'rule 2: unknown key stages'],
  ['- {verdict: never}', 'a condition is missing'],
  ['- {verdict: never, stage: []}', 'stage has to be a text or a list of texts'],
  ['- {verdict: never, stage: [1]}', 'stage has to be a text or a list of texts'],
  ['- {verdict: never, stage: A, reason: 1}', 'reason has to be a text'],
  ['- {verdict: never, message: "("}', 'message is not a regular expression'],
  [`- {verdict: never, message: ${'a'.repeat(1001)}}`, 'more than 1000 characters'],
])('%s is refused', async (text, reason) => {
  await expect(read(text)).rejects.toThrow(reason)
})

test('a file that is not there is refused', async () => {
  await expect(readVerdictFile(join(folder, 'none.yaml'))).rejects.toThrow('cannot be read')
})
