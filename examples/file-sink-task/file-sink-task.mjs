import {open} from 'node:fs/promises'
import {ConnectException} from 'kdlq/connect'

/**
 * Writes the value of every record to a file, one a line. What is no line is reported and left out.
 * @implements {import('kdlq/connect').SinkTask}
 */
export class FileSinkTask {
  /** Open from start to stop. */
  #file
  /** Null = there is none. */
  #reporter = null

  /** @param {import('kdlq/connect').SinkTaskContext} context */
  async start(context) {
    this.#file = await open(context.properties['file'] ?? 'file-sink.txt', 'a')
    // A runtime from before KIP-610 has no such method, and a connector without queue and log has no reporter.
    this.#reporter = context.errantRecordReporter?.() ?? null
  }

  /** @param {readonly import('kdlq/connect').SinkRecord[]} records */
  async put(records) {
    for (const record of records) {
      try {
        await this.#write(record)
      } catch (error) {
        const reason = error instanceof Error ? error : new Error(String(error))
        if (this.#reporter === null) throw new ConnectException('cannot write a record', {cause: reason})
        // Nothing waits here: the runtime awaits all reports before it commits. `get()` of the result would wait.
        this.#reporter.report(record, reason)
      }
    }
  }

  /** @param {import('kdlq/connect').SinkRecord} record */
  async #write(record) {
    if (typeof record.value !== 'string') throw new ConnectException('a tombstone is no line')
    if (/[\r\n]/.test(record.value)) throw new ConnectException('the value has more than one line')
    await this.#file.write(`${record.value}\n`)
  }

  /** What was written has to be on disk before offsets are committed. @param {readonly import('kdlq/connect').PartitionOffset[]} offsets */
  async preCommit(offsets) {
    await this.#file.sync()
    return offsets
  }

  async stop() {
    await this.#file?.close()
  }
}
