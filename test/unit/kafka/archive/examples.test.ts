import {readdirSync, statSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {join} from 'node:path'

import {expect, test} from 'vitest'

import {listExamples, resolveExample} from '../../../../src/lib/kafka/archive/index.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))

test('every archive in the folder is an example, found by its name', async () => {
  const examples = await listExamples(root)
  const files = readdirSync(join(root, 'examples')).filter(name => name.endsWith('.ndjson'))
  expect(examples.map(example => example.path)).toEqual(files.sort().map(name => join(root, 'examples', name)))
  expect(examples.map(example => example.name)).toContain('customers.deadletter')
  expect(await resolveExample(root, 'orders-dlq')).toBe(join(root, 'examples', 'orders-dlq.ndjson'))
})

test('an unknown example is wrong use and names the known ones', async () => {
  await expect(resolveExample(root, '../package')).rejects.toMatchObject({
    code: 'E_UNKNOWN_EXAMPLE',
    exitCode: 2,
    hints: [expect.stringContaining('orders-dlq')],
  })
  await expect(listExamples(join(root, 'src'))).rejects.toMatchObject({code: 'E_ARCHIVE_NOT_FOUND'})
})

test('the examples stay small', () => {
  const sizes = readdirSync(join(root, 'examples')).map(name => statSync(join(root, 'examples', name)).size)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(600_000)
})
