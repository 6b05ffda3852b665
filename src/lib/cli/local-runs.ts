import {randomBytes} from 'node:crypto'
import {mkdir, open, readdir, readFile, rename, rm} from 'node:fs/promises'
import {join} from 'node:path'
import {IoError, RefusedError} from '../errors.ts'
import {isRunId} from '../replay/run-id.ts'
import {errorCode, isRecord} from './guards.ts'
import type {Environment} from './io.ts'
import {stateFolder} from './state-folder.ts'

/** Runs of one ledger that are remembered; older ones are forgotten. */
const KEPT = 100
/** Larger files are none of ours, bytes. */
const MAX_BYTES = 16_384
const NAMED = 5

/** A run that wrote to a ledger topic from this machine: JSON as it is, without secrets. */
export interface LocalRun {
  readonly v: 1
  readonly run: string
  /** Ledger topic. */
  readonly ledger: string
  /** Of the cluster that holds it; null = not known. */
  readonly clusterId: string | null
  /** As the cluster was named on the command line. */
  readonly bootstrap: string
  /** Epoch ms, decimal. */
  readonly startedAt: string
}

/** A ledger topic on a cluster. */
export type LocalLedger = Pick<LocalRun, 'ledger' | 'clusterId'>

/** Where local runs are noted, one file each: `$XDG_STATE_HOME/kdlq/runs`. */
export function localRunsFolder(env: Environment, home: string): string {
  return join(stateFolder(env, home), 'runs')
}

/**
 * Note a run before its first write, so that a ledger that is missing later is missed.
 * @throws IoError `E_STATE` when the folder cannot be written
 */
export async function noteLocalRun(folder: string, run: LocalRun): Promise<void> {
  const path = pathOf(folder, run)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await mkdir(folder, {recursive: true, mode: 0o700})
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(run)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    for (const old of (await localRuns(folder, run)).slice(KEPT)) await rm(pathOf(folder, old), {force: true})
  } catch (cause) {
    await rm(temporary, {force: true}).catch(() => undefined)
    throw new IoError(`the run could not be noted in ${folder}`, {code: 'E_STATE', context: {path}, cause})
  }
}

/** Forget a run that never began. */
export async function forgetLocalRun(folder: string, run: LocalRun): Promise<void> {
  await rm(pathOf(folder, run), {force: true}).catch(() => undefined)
}

/** Runs of this machine that wrote to a ledger, newest first; what cannot be read is none. */
export async function localRuns(folder: string, {ledger, clusterId}: LocalLedger): Promise<readonly LocalRun[]> {
  const found: LocalRun[] = []
  for (const name of await namesIn(folder)) {
    const run = await readLocalRun(join(folder, name))
    if (run !== null && run.ledger === ledger && run.clusterId === clusterId) found.push(run)
  }
  return found.toSorted((a, b) => (a.run < b.run ? 1 : -1))
}

/** @throws RefusedError `E_LEDGER_MISSING` when runs of this machine wrote to a ledger that is not there */
export async function refuseIfMissed(folder: string, ledger: LocalLedger, clusterName: string): Promise<void> {
  const runs = await localRuns(folder, ledger)
  const [newest] = runs
  if (newest === undefined) return
  const more = runs.length === 1 ? '' : ` and ${runs.length - 1} more`
  const files = runs.slice(0, NAMED).map(run => pathOf(folder, run))
  const rest = runs.length > NAMED ? `, and ${runs.length - NAMED} more there` : ''
  throw new RefusedError(
    `ledger ${ledger.ledger} is not on ${clusterName}, but run ${newest.run}${more} wrote to it from this machine`,
    {
      code: 'E_LEDGER_MISSING',
      hints: [
        'without it nothing is known about what was replayed, and it would be sent again: check --ledger and the cluster',
        `if the ledger is gone for good and that is meant: delete ${files.join(' ')}${rest}, then --create-ledger`,
      ],
      context: {ledger: ledger.ledger, runs: runs.map(({run}) => run).slice(0, KEPT), folder},
    },
  )
}

function pathOf(folder: string, {run}: Pick<LocalRun, 'run'>): string {
  return join(folder, `${run}.json`)
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter(name => name.endsWith('.json') && isRunId(name.slice(0, -'.json'.length)))
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return []
    throw new IoError(`local runs cannot be read in ${folder}`, {code: 'E_STATE', context: {folder}, cause: error})
  }
}

async function readLocalRun(path: string): Promise<LocalRun | null> {
  try {
    const text = await readFile(path, 'utf8')
    const json: unknown = text.length > MAX_BYTES ? null : JSON.parse(text)
    return isLocalRun(json) && path.endsWith(`${json.run}.json`) ? json : null
  } catch {
    return null
  }
}

function isLocalRun(json: unknown): json is LocalRun {
  if (!isRecord(json) || json['v'] !== 1) return false
  const {clusterId} = json as {readonly clusterId?: unknown}
  const texts = ['run', 'ledger', 'bootstrap', 'startedAt'].every(name => typeof json[name] === 'string')
  return texts && (clusterId === null || typeof clusterId === 'string')
}
