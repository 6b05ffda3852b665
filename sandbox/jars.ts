import {execFile} from 'node:child_process'
import {createHash, randomBytes} from 'node:crypto'
import {access, mkdir, readdir, rename, rm} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {promisify} from 'node:util'
import {SandboxError} from './paths.ts'

const run = promisify(execFile)

/** All files below a folder, sorted by path. */
export async function filesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder, {recursive: true, withFileTypes: true})
  return files
    .filter(file => file.isFile())
    .map(file => join(file.parentPath, file.name))
    .sort()
}

/**
 * Copy what a pom depends on into a folder.
 * @param what for error messages: `Kafka 4.4.0`
 * @throws SandboxError without Maven or a reachable registry
 */
export async function copyJars(
  pom: string,
  properties: Readonly<Record<string, string>>,
  into: string,
  what: string,
): Promise<void> {
  const defines = Object.entries({...properties, outputDirectory: into}).map(([name, value]) => `-D${name}=${value}`)
  await tool('mvn', ['-q', '-B', '-f', pom, ...defines, 'dependency:copy-dependencies'], {
    missing: `Maven (mvn) is not installed; the sandbox needs it once to fetch ${what}`,
    failed: `Maven could not fetch ${what}; is a Maven repository reachable?`,
  })
}

/**
 * Compile Java sources into a jar.
 * @param resources folder whose content goes into the jar as it is; null = none
 * @throws SandboxError without a JDK of at least 17
 */
export async function compileJar(
  sources: readonly string[],
  classPath: string,
  jar: string,
  resources: string | null,
): Promise<void> {
  const classes = `${jar}.classes`
  await mkdir(classes, {recursive: true})
  await mkdir(dirname(jar), {recursive: true})
  const args = ['-nowarn', '-Xlint:none', '-proc:none', '--release', '17', '-cp', classPath, '-d', classes]
  await tool('javac', [...args, ...sources], {
    missing: 'a Java development kit (javac) is not installed; the sandbox needs Java 17 or newer',
    failed: 'the Java sources of the sandbox do not compile; they need Java 17 or newer',
  })
  const extra = resources === null ? [] : ['-C', resources, '.']
  await tool('jar', ['cf', jar, '-C', classes, '.', ...extra], {
    missing: 'a Java development kit (jar) is not installed; the sandbox needs Java 17 or newer',
    failed: 'the jar of the sandbox could not be written',
  })
  await rm(classes, {recursive: true})
}

/** Fill a temporary folder and put it into place whole: a killed process leaves no half-filled folder under the real name. */
export async function inFresh(base: string, target: string, fill: (temp: string) => Promise<void>): Promise<void> {
  await mkdir(base, {recursive: true})
  for (const name of await readdir(base)) {
    if (name.startsWith('new-')) await rm(join(base, name), {recursive: true, force: true})
  }
  const temp = join(base, `new-${randomBytes(4).toString('hex')}`)
  await mkdir(temp)
  await fill(temp)
  await rm(target, {recursive: true, force: true})
  await rename(temp, target)
}

/** Names what a folder was made from. */
export function hashOf(parts: readonly Buffer[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(String(part.length)).update(':').update(part)
  return hash.digest('hex').slice(0, 12)
}

/** True when there is a file or folder. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** The last lines of a text, for an error message. */
export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n')
}

/** Run a tool to its end. @throws SandboxError with a sentence for a person */
export async function tool(
  command: string,
  args: string[],
  sentences: {missing: string; failed: string},
): Promise<void> {
  try {
    await run(command, args, {maxBuffer: 64 * 1024 * 1024})
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new SandboxError(sentences.missing, {cause: error})
    }
    throw new SandboxError(`${sentences.failed}\n${lastLines(outputOf(error), 12)}`, {cause: error})
  }
}

function outputOf(error: unknown): string {
  const {stdout, stderr} = error as {stdout?: unknown; stderr?: unknown}
  return [stdout, stderr].filter(text => typeof text === 'string').join('\n')
}
