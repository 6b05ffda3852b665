/**
 * Imports point downward: dependency-cruiser over a copy of src in which `using` declarations are plain constants, because
 * the parser it has for TypeScript 7 projects stops at them. Every file must be seen; `node scripts/boundaries.ts [FOLDER]`.
 */
import {cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {root, runTool} from './lib.ts'

export interface Cruise {
  /** `rule from -> to` */
  readonly violations: readonly string[]
  readonly modules: ReadonlySet<string>
  /** Source files of the folder, as `src/...`. */
  readonly files: readonly string[]
}

interface CruiseOutput {
  readonly summary: {readonly violations: readonly {rule: {name: string}; from: string; to: string}[]}
  readonly modules: readonly {readonly source: string}[]
}

/** Check `folder`/src by the project's rules. @throws Error when the tool could not read a file */
export async function cruise(folder: string): Promise<Cruise> {
  // Inside the project, so that packages resolve as they do for the sources.
  await mkdir(join(root, '.cache'), {recursive: true})
  const copy = await mkdtemp(join(root, '.cache', 'boundaries-'))
  try {
    for (const file of ['.dependency-cruiser.mjs', 'tsconfig.json', 'package.json']) {
      await cp(join(root, file), join(copy, file))
    }
    const files = (await readdir(join(folder, 'src'), {recursive: true})).filter(name => name.endsWith('.ts'))
    for (const file of files) {
      const text = await readFile(join(folder, 'src', file), 'utf8')
      await mkdir(join(copy, 'src', file, '..'), {recursive: true})
      await writeFile(join(copy, 'src', file), text.replaceAll(/^(\s*)(?:await )?using (?=\w+ =)/gm, '$1const '))
    }
    const args = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', 'src']
    const {output} = await runTool('depcruise', args, {quiet: true, cwd: copy, stdoutOnly: true})
    if (!output.startsWith('{')) throw new Error(`dependency-cruiser stopped: ${output}`)
    const {summary, modules} = JSON.parse(output) as CruiseOutput
    return {
      violations: summary.violations.map(({rule, from, to}) => `${rule.name} ${from} -> ${to}`),
      modules: new Set(modules.map(({source}) => source)),
      files: files.filter(name => !name.endsWith('.d.ts')).map(name => `src/${name}`),
    }
  } finally {
    await rm(copy, {recursive: true, force: true})
  }
}

if (import.meta.main) {
  const {violations, modules, files} = await cruise(process.argv[2] ?? root)
  const unseen = files.filter(file => !modules.has(file))
  for (const violation of violations) console.error(violation)
  for (const file of unseen) console.error(`not seen by the check: ${file}`)
  if (violations.length + unseen.length > 0) process.exitCode = 1
  else console.log(`${files.length} files, no forbidden import, no cycle`)
}
