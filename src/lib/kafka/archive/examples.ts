import {readdir} from 'node:fs/promises'
import {join} from 'node:path'

import {IoError, UsageError} from '../../errors.ts'

const EXAMPLE_NAME = /^(?<name>.+)\.ndjson(?:\.gz|\.zst)?$/

/** An archive that ships in the package, for `example:NAME`. */
export interface Example {
  readonly name: string
  readonly path: string
}

/**
 * The archives in the package's `examples` folder, by name.
 * @param packageRoot folder of kdlq's package.json
 * @throws IoError if the folder is not there
 */
export async function listExamples(packageRoot: string): Promise<readonly Example[]> {
  const folder = join(packageRoot, 'examples')
  let entries: string[]
  try {
    entries = await readdir(folder)
  } catch (cause) {
    throw new IoError('the examples are missing from this installation', {code: 'E_ARCHIVE_NOT_FOUND', cause})
  }
  return entries.sort().flatMap(entry => {
    const name = EXAMPLE_NAME.exec(entry)?.groups?.['name']
    return name === undefined ? [] : [{name, path: join(folder, entry)}]
  })
}

/**
 * The path of one example.
 * @param packageRoot folder of kdlq's package.json
 * @throws UsageError with the known names if there is none with this name
 */
export async function resolveExample(packageRoot: string, name: string): Promise<string> {
  const examples = await listExamples(packageRoot)
  const found = examples.find(example => example.name === name)
  if (found !== undefined) return found.path
  throw new UsageError('there is no example with this name', {
    code: 'E_UNKNOWN_EXAMPLE',
    hints: [`examples: ${examples.map(example => example.name).join(', ')}`],
    context: {name},
  })
}
