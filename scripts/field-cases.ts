/**
 * `npm run field-cases`: faults that people met in the field, each held by a test whose name starts with the case's id in
 * brackets. Lists id, file:line and the first assertion; exits 1 when a case marked done in test/field-cases.json has none.
 */
import {readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {root} from './lib.ts'

interface FieldCase {
  readonly kinds: readonly string[]
  readonly what?: string
  readonly done: boolean
}

const cases = JSON.parse(await readFile(join(root, 'test/field-cases.json'), 'utf8')) as Record<string, FieldCase>
const quiet = process.argv.includes('--quiet')
const found = new Map<string, string[]>()

for (const file of (await readdir(join(root, 'test'), {recursive: true}))
  .filter(name => name.endsWith('.test.ts'))
  .sort()) {
  const lines = (await readFile(join(root, 'test', file), 'utf8')).split('\n')
  for (const [index, line] of lines.entries()) {
    // The name may begin on the line of `test(` or on the next one; only running tests count.
    const starts =
      /\b(?:test|it)(?:\.each\(.*\)|\.prop\(.*\))?\(\s*$/.test(lines[index - 1] ?? '') ||
      /\b(?:test|it)\b[^'"`]*\(\s*['"`]/.test(line)
    if (!starts) continue
    const ids = /['"`]((?:\[[BC]R-\d+\]\s*)+)/.exec(line)?.[1]?.match(/[BC]R-\d+/g) ?? []
    const assertion =
      lines
        .slice(index)
        .find(next => /\bexpect\b|\bassert/.test(next))
        ?.trim() ?? ''
    for (const id of ids) found.set(id, [...(found.get(id) ?? []), `test/${file}:${index + 1}  ${assertion}`])
  }
}

const missing = Object.entries(cases).filter(([id, {done}]) => done && !found.has(id))
const unknown = [...found.keys()].filter(id => !(id in cases))
if (!quiet) {
  for (const [id, places] of [...found].sort(([a], [b]) => a.localeCompare(b))) {
    for (const place of places) console.log(`${id}  ${place}`)
  }
}
for (const [id, {what}] of missing) console.error(`${id}  has no test: ${what ?? ''}`)
for (const id of unknown) console.error(`${id}  is tested but not listed in test/field-cases.json`)
const done = Object.values(cases).filter(entry => entry.done).length
console.log(
  `${done - missing.length} of ${done} field cases marked done have a test; ${Object.keys(cases).length - done} are open`,
)
if (missing.length > 0 || unknown.length > 0) process.exitCode = 1
