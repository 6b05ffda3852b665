import {execFile} from 'node:child_process'
import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {exists, inFresh, tool} from './jars.ts'
import {type JavaProcess, startJava, waitUntil} from './java-process.ts'
import type {KafkaLibs} from './libs.ts'
import {withLock} from './lock.ts'
import {cacheDir} from './paths.ts'
import {freePorts} from './ports.ts'

/** In-memory build of Apicurio Registry that runs on Java 17 and speaks Confluent's REST interface. */
const VERSION = '2.6.13.Final'
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'

export interface SchemaRegistryProcess extends AsyncDisposable {
  /** Base URL of the interface that Confluent's clients speak. */
  readonly url: string
  readonly pid: number
}

/** Folder of the unpacked registry in .cache; fetched by Maven when it is missing (142 MB). @throws SandboxError */
async function ensureRegistry(): Promise<string> {
  const base = join(cacheDir, `schema-registry-${VERSION}`)
  const target = join(base, 'app')
  if (await exists(target)) return target
  await withLock(join(cacheDir, 'schema-registry.lock'), async () => {
    if (await exists(target)) return
    await inFresh(base, target, async temp => {
      await tool('mvn', ['-q', '-B', COPY, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${join(temp, 'download')}`], {
        missing: 'Maven (mvn) is not installed; the sandbox needs it once to fetch the schema registry',
        failed: `Maven could not fetch ${ARTIFACT}; is a Maven repository reachable?`,
      })
      const archive = join(temp, 'download', `apicurio-registry-app-${VERSION}-all.tar.gz`)
      await promisify(execFile)('tar', ['-xzf', archive, '-C', temp])
    })
  })
  return target
}

/**
 * Start a real schema registry that keeps its schemas in memory; resolves when it answers.
 * @param libs whose launcher ends it together with this process
 * @param dir for its log; made when it is missing
 * @throws SandboxError when it cannot be fetched or does not start
 */
export async function startSchemaRegistry(
  libs: Pick<KafkaLibs, 'pluginsDir'>,
  dir: string,
): Promise<SchemaRegistryProcess> {
  const app = await ensureRegistry()
  await mkdir(dir, {recursive: true})
  const [port = 0] = await freePorts(1)
  const java = startJava({
    name: 'schema registry',
    classPath: [
      join(app, `apicurio-registry-app-${VERSION}-runner.jar`),
      join(libs.pluginsDir, 'kdlq-sandbox', 'kdlq-sandbox.jar'),
    ].join(':'),
    args: ['io.quarkus.runner.GeneratedMain'],
    jvm: [`-Dquarkus.http.port=${port}`, '-Dquarkus.http.host=127.0.0.1'],
    logFile: join(dir, 'schema-registry.log'),
    detached: false,
  })
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
  try {
    await waitUntil(java, 90_000, async () => answers(`${url}/subjects`))
  } catch (error) {
    await java.kill()
    throw error
  }
  return toRegistry(java, url)
}

function toRegistry(java: JavaProcess, url: string): SchemaRegistryProcess {
  return {
    url,
    pid: java.pid,
    async [Symbol.asyncDispose]() {
      await java.stop()
    },
  }
}

async function answers(url: string): Promise<boolean> {
  return fetch(url, {signal: AbortSignal.timeout(2000)}).then(
    ({ok}) => ok,
    () => false,
  )
}
