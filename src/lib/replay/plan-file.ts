import {randomBytes} from 'node:crypto'
import {open, readFile, rename, rm, stat} from 'node:fs/promises'
import {dirname} from 'node:path'
import {IoError, UsageError} from '../errors.ts'
import type {ReplayPlan} from './plan.ts'
import {validatePlan} from './plan-validate.ts'

/** Largest plan file that is read, bytes. */
const MAX_PLAN_BYTES = 256 * 1024 * 1024

/**
 * Write a plan so that the file is there whole or not at all: a temporary file beside it, synced, then renamed.
 * @throws IoError
 */
export async function writePlanFile(path: string, plan: ReplayPlan): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(plan, null, 1)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await rm(temporary, {force: true})
    throw new IoError(`the plan could not be written to ${path}`, {
      code: 'E_PLAN_WRITE',
      hints: [reasonOf(error)],
      context: {path},
      cause: error,
    })
  }
}

/**
 * Read a plan file and check it.
 * @throws IoError when it cannot be read, UsageError when it is not a plan of this version
 */
export async function readPlanFile(path: string): Promise<ReplayPlan> {
  let text: string
  try {
    const {size} = await stat(path)
    if (size > MAX_PLAN_BYTES) throw new Error(`larger than ${MAX_PLAN_BYTES} bytes`)
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new IoError(`the plan file ${path} could not be read`, {
      code: 'E_PLAN_READ',
      hints: [reasonOf(error)],
      context: {path},
      cause: error,
    })
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`the plan file ${path} is not JSON`, {
      code: 'E_PLAN_INVALID',
      hints: [reasonOf(error)],
      context: {path},
      cause: error,
    })
  }
  return validatePlan(json)
}

/** The rename itself has to reach the disk; not every file system can sync a folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null)
  if (folder === null) return
  try {
    await folder.sync().catch(() => undefined)
  } finally {
    await folder.close()
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
