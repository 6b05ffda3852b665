// node main.mjs [RECORDS.ndjson] [OUTPUT]: runs FileSinkTask over an archive instead of a topic. Dead letters go to standard output.
import {readFile} from 'node:fs/promises'
import {
  createPlugins,
  DeadLetterQueueReporter,
  SettableFuture,
  SinkTaskRunner,
  stackTraceOf,
  systemClock,
} from 'kdlq/connect'
import {FileSinkTask} from './file-sink-task.mjs'

const [records = new URL('notes.ndjson', import.meta.url), file = 'file-sink.txt'] = process.argv.slice(2)

const properties = {
  file,
  topics: 'notes',
  'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
  'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
  'errors.tolerance': 'all',
  'errors.deadletterqueue.topic.name': 'notes-dlq',
  'errors.deadletterqueue.context.headers.enable': 'true',
}

/** @param {string | {base64: string} | null} bytes */
const bytesOf = bytes =>
  bytes === null ? null : typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.base64, 'base64')

/** The lines of an archive as a consumer: all in one poll, then the end. @implements {import('kdlq/connect').SinkConsumer} */
class ArchiveConsumer {
  #partition = {topic: 'notes', partition: 0}
  #listener
  #isRead = false

  /** @param {import('kdlq/connect').RebalanceListener} listener */
  subscribe(listener) {
    this.#listener = listener
  }

  async poll() {
    if (this.#isRead) {
      runner.stop()
      return []
    }
    this.#isRead = true
    await this.#listener.onPartitionsAssigned([this.#partition])
    const lines = (await readFile(records, 'utf8')).split('\n').filter(line => line !== '')
    return lines.map(line => {
      const {offset, timestamp, timestampType, key, value, headers} = JSON.parse(line)
      return {
        ...this.#partition,
        offset: BigInt(offset),
        timestamp: BigInt(timestamp),
        timestampType,
        key: bytesOf(key),
        value: bytesOf(value),
        headers: headers.map((/** @type {[string, string | null]} */ [name, text]) => ({
          name: Buffer.from(name),
          value: bytesOf(text),
        })),
      }
    })
  }

  assignment() {
    return [this.#partition]
  }

  position() {
    return 0n
  }

  seek() {}

  pause() {}

  resume() {}

  /** @param {readonly import('kdlq/connect').PartitionOffset[]} offsets */
  async commit(offsets) {
    for (const {topic, partition, offset} of offsets) console.log(`committed ${topic}:${partition}:${offset}`)
  }

  close() {}
}

const runner = new SinkTaskRunner({
  connector: 'file-sink',
  task: 0,
  properties,
  sinkTask: new FileSinkTask(),
  consumer: new ArchiveConsumer(),
  ...createPlugins(properties),
  clock: systemClock,
  log: ({message, error}) => console.error(error === null ? message : `${message}\n${stackTraceOf(error)}`),
  // With Kafka at hand: createDeadLetterQueueReporter(cluster, request).
  openDeadLetterQueue: async request =>
    new DeadLetterQueueReporter({
      ...request,
      producer: {
        send({topic, value, headers}) {
          const reason = headers.find(({name}) => name.toString() === '__connect.errors.exception.message')
          console.log(`to ${topic}: ${JSON.stringify(value?.toString() ?? null)} because ${reason?.value ?? 'nobody says why'}`)
          return SettableFuture.settled()
        },
        close() {},
      },
    }),
})

const {state, trace} = await runner.run()
if (state === 'FAILED') {
  console.error(trace)
  process.exitCode = 1
}
