import type {SourceOffset} from './source-task.ts'

/** A record on its way to Kafka. */
export interface SubmittedRecord {
  /** It is written, or will never be: its offset may be committed once all before it are done. */
  ack(): void
  /** It was not sent after all. */
  drop(): void
}

interface Entry extends SourceOffset {
  acked: boolean
}

/**
 * Offsets of records that were sent, by source partition: only what lies before the first open one may be committed.
 * @see Connect's SubmittedRecords
 */
export class SubmittedRecords {
  readonly #byPartition = new Map<string, Entry[]>()
  readonly #committable = new Map<string, SourceOffset>()

  submit({sourcePartition, sourceOffset}: SourceOffset): SubmittedRecord {
    const key = keyOf(sourcePartition)
    const entry: Entry = {sourcePartition, sourceOffset, acked: false}
    const queue = this.#byPartition.get(key) ?? []
    this.#byPartition.set(key, queue)
    queue.push(entry)
    return {
      ack: () => {
        entry.acked = true
        this.#advance(key, queue)
      },
      drop: () => {
        const at = queue.lastIndexOf(entry)
        if (at !== -1) queue.splice(at, 1)
        this.#advance(key, queue)
      },
    }
  }

  /** What may be committed and was not taken before. */
  takeCommittable(): readonly SourceOffset[] {
    const offsets = [...this.#committable.values()]
    this.#committable.clear()
    return offsets
  }

  /** Offsets that were taken and not written: they count again, unless later ones are there. */
  putBack(offsets: readonly SourceOffset[]): void {
    for (const offset of offsets) {
      const key = keyOf(offset.sourcePartition)
      if (!this.#committable.has(key)) this.#committable.set(key, offset)
    }
  }

  #advance(key: string, queue: Entry[]): void {
    const open = queue.findIndex(({acked}) => !acked)
    const done = queue.splice(0, open === -1 ? queue.length : open)
    const last = done.at(-1)
    if (last !== undefined) {
      this.#committable.set(key, {sourcePartition: last.sourcePartition, sourceOffset: last.sourceOffset})
    }
  }
}

function keyOf(sourcePartition: SourceOffset['sourcePartition']): string {
  return JSON.stringify(Object.entries(sourcePartition).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
