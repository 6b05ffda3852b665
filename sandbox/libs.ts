import {execFile} from 'node:child_process'
import {createHash, randomBytes} from 'node:crypto'
import {access, mkdir, readdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {withLock} from './lock.ts'
import {cacheDir, sandboxDir, SandboxError} from './paths.ts'

const run = promisify(execFile)

/** Versions that the pom resolves and the sandbox is tried with. */
export type KafkaVersion = '4.4.0' | '3.9.2'

export interface KafkaLibs {
  readonly version: KafkaVersion
  /** Folder with the jars of broker, tools and Connect. */
  readonly libsDir: string
  /** Folder for Connect's `plugin.path`; its one plugin is our jar. */
  readonly pluginsDir: string
  /** For `java -cp`: Kafka's jars and ours. */
  readonly classPath: string
}

/**
 * Kafka's jars and the sandbox's own jar in .cache; does nothing when both are there. Safe to call at the same time from
 * several processes, and after one of them was killed.
 * @throws SandboxError without Java, Maven or a reachable registry
 */
export async function ensureLibs(version: KafkaVersion): Promise<KafkaLibs> {
  const base = join(cacheDir, `kafka-${version}`)
  const pom = join(sandboxDir, 'pom.xml')
  const sources = [...(await filesIn('java')), ...(await filesIn('services'))]
  const libsDir = join(base, 'libs')
  const pomHash = hashOf([await readFile(pom)])
  const jarHash = hashOf([Buffer.from(pomHash), ...(await Promise.all(sources.map(file => readFile(file))))])
  const pluginsDir = join(base, `plugins-${jarHash}`)
  const libs = {version, libsDir, pluginsDir, classPath: [join(libsDir, '*'), jarIn(pluginsDir)].join(':')}
  const pomMark = join(libsDir, `pom-${pomHash}`)
  if ((await exists(pomMark)) && (await exists(jarIn(pluginsDir)))) return libs
  await withLock(join(cacheDir, `kafka-${version}.lock`), async () => {
    if (!(await exists(pomMark))) await inFresh(base, libsDir, temp => resolveJars(pom, version, temp, pomHash))
    if (!(await exists(jarIn(pluginsDir)))) await inFresh(base, pluginsDir, temp => compile(sources, libsDir, temp))
  })
  return libs
}

function jarIn(pluginsDir: string): string {
  return join(pluginsDir, 'kdlq-sandbox', 'kdlq-sandbox.jar')
}

async function filesIn(folder: string): Promise<string[]> {
  const files = await readdir(join(sandboxDir, folder), {recursive: true, withFileTypes: true})
  return files
    .filter(file => file.isFile())
    .map(file => join(file.parentPath, file.name))
    .sort()
}

async function resolveJars(pom: string, version: string, into: string, pomHash: string): Promise<void> {
  const args = ['-q', '-B', '-f', pom, `-Dkafka.version=${version}`, `-DoutputDirectory=${into}`]
  await tool('mvn', [...args, 'dependency:copy-dependencies'], {
    missing: 'Maven (mvn) is not installed; the sandbox needs it once to fetch Kafka',
    failed: `Maven could not fetch Kafka ${version}; is a Maven repository reachable?`,
  })
  await writeFile(join(into, `pom-${pomHash}`), '')
}

async function compile(sources: readonly string[], libsDir: string, into: string): Promise<void> {
  const classes = join(into, 'classes')
  await mkdir(classes, {recursive: true})
  await mkdir(join(into, 'kdlq-sandbox'))
  const java = sources.filter(file => file.endsWith('.java'))
  const args = ['-nowarn', '-Xlint:none', '-proc:none', '--release', '17', '-cp', join(libsDir, '*'), '-d', classes]
  await tool('javac', [...args, ...java], {
    missing: 'a Java development kit (javac) is not installed; the sandbox needs Java 17 or newer',
    failed: 'the Java sources of the sandbox do not compile; they need Java 17 or newer',
  })
  await tool('jar', ['cf', jarIn(into), '-C', classes, '.', '-C', join(sandboxDir, 'services'), '.'], {
    missing: 'a Java development kit (jar) is not installed; the sandbox needs Java 17 or newer',
    failed: 'the jar of the sandbox could not be written',
  })
  await rm(classes, {recursive: true})
}

/** Fill a temporary folder and put it into place whole: a killed process leaves no half-filled folder under the real name. */
async function inFresh(base: string, target: string, fill: (temp: string) => Promise<void>): Promise<void> {
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

async function tool(command: string, args: string[], sentences: {missing: string; failed: string}): Promise<void> {
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

/** The last lines of a text, for an error message. */
export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n')
}

function hashOf(parts: readonly Buffer[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(String(part.length)).update(':').update(part)
  return hash.digest('hex').slice(0, 12)
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
