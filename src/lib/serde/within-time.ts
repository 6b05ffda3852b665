import {createContext, Script} from 'node:vm'
import {DecodeFault} from './fault.ts'
import {membersOf} from './objects.ts'

/** Runs code of a library on data that nobody vouches for, and stops it when it takes too long. */
export type WithinTime = (work: () => void) => void

/**
 * A bound for code without waits; one context serves all calls.
 * @returns a function that throws a DecodeFault of step `schema` when the time is over, and what the work throws
 */
export function createWithinTime(limitMs: number): WithinTime {
  let current = (): void => undefined
  const context = createContext({run: () => current()})
  const script = new Script('run()')
  return work => {
    current = work
    try {
      script.runInContext(context, {timeout: limitMs})
    } catch (error) {
      // The error is one of the other context: no instance of our Error.
      if (membersOf(error)['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
        throw new DecodeFault('schema', `checking by this schema takes more than ${limitMs} ms`)
      }
      throw error
    }
  }
}
