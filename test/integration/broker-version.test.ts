import {execFile} from 'node:child_process'
import {promisify} from 'node:util'
import {expect, inject, test} from 'vitest'
import {ensureLibs} from '../../sandbox/libs.ts'
import {toolJvmArguments} from '../../sandbox/tools.ts'
import {connectCluster} from '../../src/lib/kafka/client/index.ts'
import {parseBootstrapServers, PLAINTEXT} from '../../src/lib/kafka/client/security.ts'
import {finalizedFeatures} from '../support/sandbox-api-versions.ts'

const bootstrapServers = inject('bootstrapServers')

test('the broker says in ApiVersions that it is Kafka 4.4', async () => {
  const port = Number(bootstrapServers.split(':').at(-1))
  const features = await finalizedFeatures(port)
  const libs = await ensureLibs('4.4.0')
  const mapping = ['kafka.tools.StorageTool', 'version-mapping', '--release-version', '4.4']
  const {stdout} = await promisify(execFile)('java', [...toolJvmArguments(libs), ...mapping])
  const level = /^metadata\.version=(\d+) /m.exec(stdout)?.[1]
  expect(String(features.get('metadata.version'))).toBe(level)

  await using cluster = await connectCluster({
    ...PLAINTEXT,
    bootstrapServers: parseBootstrapServers(bootstrapServers),
    clientId: 'kdlq-test',
    timeoutMs: 10_000,
    requestTimeoutMs: 10_000,
  })
  expect(cluster.features).toEqual(features)
  expect(cluster.release).toBe('4.4')
})
