import type {CheckResult} from './plan.ts'

/** Addresses that one check lists. */
const MAX_ADDRESSES = 20

/** Dead letters that earlier runs announced and did not settle: they may be in the target, and are left out. */
export class UnsettledLetters {
  readonly #addresses: string[] = []
  #count = 0
  /** Of the first one. */
  #run = ''

  add(address: string, run: string): void {
    if (this.#count === 0) this.#run = run
    this.#count++
    if (this.#addresses.length < MAX_ADDRESSES) this.#addresses.push(address)
  }

  /** Put them in front of what the check `handled` lists: they are the ones that a person has to look at. */
  tell(check: CheckResult): CheckResult {
    if (check.id !== 'handled' || this.#count === 0) return check
    const addresses = [...new Set([...this.#addresses, ...check.addresses])].slice(0, MAX_ADDRESSES)
    const detail = `${this.#count} may have been sent by ${this.#run}: look in the target, or send again with --resend-unknown`
    return {...check, detail, addresses}
  }
}
