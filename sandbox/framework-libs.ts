import {readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {compileJar, copyJars, exists, filesIn, hashOf, inFresh} from './jars.ts'
import {withLock} from './lock.ts'
import {cacheDir, sandboxDir} from './paths.ts'

/**
 * Class path of Spring Kafka, Kafka Streams, the share consumer and the programs of `frameworks/`, in .cache; does nothing
 * when all is there. The broker's jars are not on it. Safe to call at the same time from several processes.
 * @throws SandboxError without Java, Maven or a reachable registry
 */
export async function ensureFrameworkLibs(): Promise<string> {
  const base = join(cacheDir, 'frameworks')
  const pom = join(sandboxDir, 'frameworks', 'pom.xml')
  const archiveLine = join(sandboxDir, 'java', 'org', 'kdlq', 'sandbox', 'ArchiveLine.java')
  const sources = [...(await filesIn(join(sandboxDir, 'frameworks', 'java'))), archiveLine]
  const pomHash = hashOf([await readFile(pom)])
  const libsDir = join(base, 'libs')
  const pomMark = join(libsDir, `pom-${pomHash}`)
  const jarHash = hashOf([Buffer.from(pomHash), ...(await Promise.all(sources.map(file => readFile(file))))])
  const ownDir = join(base, `own-${jarHash}`)
  const jar = join(ownDir, 'kdlq-frameworks.jar')
  if (!(await exists(pomMark)) || !(await exists(jar))) {
    await withLock(join(cacheDir, 'frameworks.lock'), async () => {
      if (!(await exists(pomMark))) {
        await inFresh(base, libsDir, async temp => {
          await copyJars(pom, {}, temp, 'Spring Kafka and Kafka Streams')
          await writeFile(join(temp, `pom-${pomHash}`), '')
        })
      }
      if (!(await exists(jar))) {
        await inFresh(base, ownDir, temp =>
          compileJar(sources, join(libsDir, '*'), join(temp, 'kdlq-frameworks.jar'), null),
        )
      }
    })
  }
  return [join(libsDir, '*'), jar].join(':')
}
