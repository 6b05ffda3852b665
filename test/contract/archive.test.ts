import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'

import {formatArchiveLine, openArchive} from '../../src/lib/kafka/archive/index.ts'
import {describeContract} from './suite.ts'

describeContract('a directory archive', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kdlq-test-'))
  const offsets = [2n, 3n, 7n, 8n, 20n]
  const lines = offsets.map(offset =>
    formatArchiveLine({
      topic: 'gaps',
      partition: 0,
      offset,
      timestamp: 1_700_000_000_000n,
      timestampType: 'CreateTime',
      key: null,
      value: null,
      headers: [],
    }),
  )
  await writeFile(join(directory, 'gaps.ndjson'), lines.join('\n'))
  const cluster = await openArchive(directory)
  let topics = 0
  return {
    cluster,
    createTopic: async partitions => {
      const name = `topic-${++topics}`
      await cluster.admin.createTopic({name, partitions, replicationFactor: -1, configs: {}})
      return name
    },
    topicWithGaps: async () => ({topic: 'gaps', offsets}),
    [Symbol.asyncDispose]: async () => {
      await cluster.close()
      await rm(directory, {recursive: true})
    },
  }
})
