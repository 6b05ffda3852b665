import {createWriteStream} from 'node:fs'
import {mkdir, rm} from 'node:fs/promises'
import {join} from 'node:path'
import type {Readable} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import {IoError} from '../errors.ts'
import type {Cluster} from '../kafka/ports.ts'
import type {Environment} from './io.ts'
import {stateFolder} from './state-folder.ts'

/** Where records that came on stdin are kept until their run is done: `$XDG_STATE_HOME/kdlq/spool/RUN`. */
export function spoolPath(env: Environment, home: string, run: string): string {
  return join(stateFolder(env, home), 'spool', run)
}

/**
 * Keep all of stdin in a file, as it is, so that a run can be resumed.
 * @throws IoError when it cannot be written; the signal's reason
 */
export async function spoolStdin(stdin: Readable, path: string, signal: AbortSignal): Promise<void> {
  try {
    await mkdir(join(path, '..'), {recursive: true, mode: 0o700})
    await pipeline(stdin, createWriteStream(path, {mode: 0o600, flush: true}), {signal})
  } catch (cause) {
    await rm(path, {force: true})
    signal.throwIfAborted()
    throw new IoError(`stdin could not be kept in ${path}`, {code: 'E_SPOOL', context: {path}, cause})
  }
}

/** A spooled archive under the name that plans know it by. */
export function asStdin(spooled: Cluster): Cluster {
  const {reader, writer, admin} = spooled
  return {
    description: {kind: 'archive', clusterId: 'archive:-', name: '-'},
    reader,
    writer,
    admin,
    close: async () => spooled.close(),
    [Symbol.asyncDispose]: async () => spooled.close(),
  }
}
