/** What a transport is given; kept apart so that its types lead to no file of kafkajs. */
import type {Clock} from '../../clock.ts'

/** Takes one line of kafkajs' own log: its part, level and text, never its data (they can hold secrets). */
export type DebugLog = (line: string) => void

/** Reads a whole file; injected so that nothing here knows a file system. */
export type ReadFile = (path: string) => Promise<Buffer>

export interface TransportDeps {
  readonly clock?: Clock
  /** Gets kafkajs' own log lines; they go nowhere without it. */
  readonly debug?: DebugLog | null
  readonly readFile?: ReadFile
  /** Version of kdlq, told to the broker. */
  readonly clientVersion?: string
}
