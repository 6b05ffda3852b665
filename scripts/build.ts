/** Builds dist: the library and its types by tsc, the program as a split bundle, oclif's manifest, docs/cli, the README picture. */
import {readdir, rm} from 'node:fs/promises'
import {join} from 'node:path'
import {build} from 'esbuild'
import {root, runTool} from './lib.ts'

async function commandEntries(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), {withFileTypes: true, recursive: true})
  return entries
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
}

/** Names of the outputs follow the sources: oclif finds commands by folder, the Help class and main by name. */
async function bundle(): Promise<void> {
  const commands = await commandEntries('src/commands')
  const entries: readonly (readonly [name: string, file: string])[] = [
    ['main', join(root, 'src/main.ts')],
    ['help', join(root, 'src/lib/cli/help.ts')],
    ...commands.map(file => [file.slice(join(root, 'src').length + 1, -'.ts'.length), file] as const),
  ]
  await build({
    entryPoints: Object.fromEntries(entries),
    outdir: join(root, 'dist/cli'),
    format: 'esm',
    platform: 'node',
    target: 'node22.22',
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    minifyWhitespace: true,
    minifySyntax: true,
    // Identifiers stay: names of error classes are read by code and people.
    minifyIdentifiers: false,
    legalComments: 'none',
    logLevel: 'warning',
    banner: {
      js: [
        "import {createRequire as $createRequire} from 'node:module'",
        "import {dirname as $dirname} from 'node:path'",
        "import {fileURLToPath as $fileURLToPath} from 'node:url'",
        'const require = $createRequire(import.meta.url)',
        'const __filename = $fileURLToPath(import.meta.url)',
        'const __dirname = $dirname(__filename)',
      ].join(';'),
    },
  })
}

/** @throws Error with the tool's output when it fails */
async function step(name: string, command: string, args: readonly string[]): Promise<void> {
  const {code, output, seconds} = await runTool(command, args, {quiet: true, env: {NODE_ENV: 'production'}})
  if (code !== 0) throw new Error(`${name} failed\n${output}`)
  console.log(`ok   ${name.padEnd(10)} ${seconds.toFixed(1)} s`)
}

// Names of chunks change with their content: old ones would be packed.
await rm(join(root, 'dist'), {recursive: true, force: true})
await step('library', 'tsc', ['-p', 'tsconfig.build.json'])
const started = performance.now()
await bundle()
console.log(`ok   ${'bundle'.padEnd(10)} ${((performance.now() - started) / 1000).toFixed(1)} s`)
// The manifest is what --help shows.
await step('manifest', 'oclif', ['manifest', '.'])
await rm(join(root, 'docs/cli'), {recursive: true, force: true})
await step('reference', 'oclif', ['readme', '--multi', '--output-dir', 'docs/cli', '--no-source-links'])
await step('picture', 'node', ['scripts/picture.ts'])
