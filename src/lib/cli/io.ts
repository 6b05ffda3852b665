import type {Readable} from 'node:stream'
import type {ColourLevel} from './colour.ts'
import {colourLevel, speaksUnicode} from './colour.ts'
import type {Output} from './output.ts'
import {StreamOutput} from './output.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Standard streams and what is known about them. stdout is data, stderr is talk. */
export interface Io {
  readonly stdin: Readable & {readonly isTTY?: boolean}
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Environment
}

/** The streams of this process. */
export function processIo(): Io {
  return {
    stdin: process.stdin,
    stdout: new StreamOutput(process.stdout),
    stderr: new StreamOutput(process.stderr, {talk: true}),
    env: process.env,
  }
}

/** How a stream may be decorated; decided once per stream. */
export interface Decoration {
  /** Columns; null without a terminal: nothing is cut then. */
  readonly width: number | null
  readonly colour: ColourLevel
  readonly unicode: boolean
  readonly isTTY: boolean
}

/** Decoration of one stream by its facts, the environment and `--no-color`. */
export function decorationOf(io: Io, stream: 'stdout' | 'stderr', noColorFlag: boolean): Decoration {
  const output = io[stream]
  return {
    width: output.width,
    colour: colourLevel({isTTY: output.isTTY, noColorFlag, env: io.env}),
    unicode: speaksUnicode(io.env),
    isTTY: output.isTTY,
  }
}
