import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {expect, test} from 'vitest'
import {root} from '../../scripts/lib.ts'
import {profileSettings} from '../../src/lib/cli/config/schema.ts'

const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8')

test('every package has a line in docs/dependencies.md that says why', async () => {
  const {dependencies, devDependencies} = JSON.parse(await read('package.json')) as Record<string, object>
  const text = await read('docs/dependencies.md')
  const rows = text.split('\n').filter(line => line.startsWith('| '))
  const named = new Set(rows.flatMap(row => (row.split('|')[1] ?? '').split(',').map(name => name.trim())))
  const packages = Object.keys({...dependencies, ...devDependencies})
  expect(packages.length).toBeGreaterThan(20)
  expect(packages.filter(name => !named.has(name))).toEqual([])
})

test('every setting has a row in docs/configuration.md', async () => {
  const text = await read('docs/configuration.md')
  expect(profileSettings.length).toBeGreaterThan(10)
  expect(profileSettings.filter(name => !text.includes(`| \`${name}\` `))).toEqual([])
})

test('every command is told of in the changelog', async () => {
  const {commands} = JSON.parse(await read('oclif.manifest.json')) as {commands: Record<string, unknown>}
  const changelog = await read('CHANGELOG.md')
  const told = Object.keys(commands).filter(id => !['completion', 'help', 'version'].includes(id) && !id.includes(':'))
  expect(told.filter(id => !changelog.includes(`\`${id}\``))).toEqual([])
})
