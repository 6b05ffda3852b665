import {readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {compileJar, copyJars, exists, filesIn, hashOf, inFresh} from './jars.ts'
import {withLock} from './lock.ts'
import {cacheDir, sandboxDir} from './paths.ts'

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
  const java = await filesIn(join(sandboxDir, 'java'))
  const services = join(sandboxDir, 'services')
  const sources = [...java, ...(await filesIn(services))]
  const libsDir = join(base, 'libs')
  const pomHash = hashOf([await readFile(pom)])
  const jarHash = hashOf([Buffer.from(pomHash), ...(await Promise.all(sources.map(file => readFile(file))))])
  const pluginsDir = join(base, `plugins-${jarHash}`)
  const libs = {version, libsDir, pluginsDir, classPath: [join(libsDir, '*'), jarIn(pluginsDir)].join(':')}
  const pomMark = join(libsDir, `pom-${pomHash}`)
  if ((await exists(pomMark)) && (await exists(jarIn(pluginsDir)))) return libs
  await withLock(join(cacheDir, `kafka-${version}.lock`), async () => {
    if (!(await exists(pomMark))) {
      await inFresh(base, libsDir, async temp => {
        await copyJars(pom, {'kafka.version': version}, temp, `Kafka ${version}`)
        await writeFile(join(temp, `pom-${pomHash}`), '')
      })
    }
    if (!(await exists(jarIn(pluginsDir)))) {
      await inFresh(base, pluginsDir, temp => compileJar(java, join(libsDir, '*'), jarIn(temp), services))
    }
  })
  return libs
}

function jarIn(pluginsDir: string): string {
  return join(pluginsDir, 'kdlq-sandbox', 'kdlq-sandbox.jar')
}
