import type {Clock} from '../../clock.ts'
import type {KdlqError} from '../../errors.ts'
import {protocolError} from '../protocol/errors.ts'
import type {Api, NodeId} from '../protocol/types.ts'
import type {Transport} from '../transport.ts'
import {abortable} from './abort.ts'
import {backoffMs, CODE, failureOf} from './retry.ts'
import {noCoordinator, notAuthorized} from './transaction-errors.ts'

/** The end of the transaction before is still being written to its partitions: soon over. */
const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 100
/** After so long without an answer the request goes out again, ms. */
const ANSWER_TIMEOUT_MS = 10_000

const SHORT_WAIT = new Set<number>([CODE.CONCURRENT_TRANSACTIONS, CODE.COORDINATOR_LOAD_IN_PROGRESS])
const MOVED = new Set<number>([CODE.NOT_COORDINATOR, CODE.COORDINATOR_NOT_AVAILABLE])

export interface AskOptions<Res> {
  readonly maxVersion: number
  /** Monotonic ms. */
  readonly deadline: number
  readonly signal: AbortSignal | undefined
  /** The answer's error code. */
  readonly codeOf: (body: Res) => number
}

/** The broker that keeps one transactional id's state; found again whenever it moved or was lost. */
export class TransactionCoordinator {
  readonly transactionalId: string
  readonly #transport: Transport
  readonly #clock: Clock
  #node: NodeId | null = null

  constructor({transport, clock}: {readonly transport: Transport; readonly clock: Clock}, transactionalId: string) {
    this.transactionalId = transactionalId
    this.#transport = transport
    this.#clock = clock
  }

  /**
   * Its node id, by FindCoordinator where it is not known.
   * @throws AuthError without DESCRIBE on the transactional id; KdlqError, the signal's reason
   */
  async node(deadline: number, signal: AbortSignal | undefined): Promise<NodeId> {
    if (this.#node !== null) return this.#node
    const timeoutMs = Math.max(1, Math.ceil(deadline - this.#clock.monotonic()))
    const options = {signal, timeoutMs: Math.min(timeoutMs, ANSWER_TIMEOUT_MS)}
    try {
      this.#node = await this.#transport.coordinator('transaction', this.transactionalId, options)
      return this.#node
    } catch (error) {
      signal?.throwIfAborted()
      throw this.#forPerson(failureOf(error), 'FindCoordinator')
    }
  }

  /**
   * Ask until there is an answer that is no "later" and no "elsewhere".
   * @returns the answer and its code, 0 or an error that asking again does not change
   * @throws AuthError without a right to the transactional id, UnreachableError (`E_NO_TRANSACTION_COORDINATOR`) at the
   * deadline, the signal's reason; the request may have had its effect then
   */
  async ask<Req, Res>(api: Api<Req, Res>, body: Req, options: AskOptions<Res>): Promise<{body: Res; code: number}> {
    const {maxVersion, deadline, signal, codeOf} = options
    const start = this.#clock.monotonic()
    let failures = 0
    let waits = 0
    for (;;) {
      signal?.throwIfAborted()
      let wait: number
      let failure: KdlqError
      try {
        const node = await this.node(deadline, signal)
        const left = Math.max(1, Math.ceil(deadline - this.#clock.monotonic()))
        const limits = {signal, maxVersion, timeoutMs: Math.min(left, ANSWER_TIMEOUT_MS)}
        const answer = await abortable(this.#transport.send(node, api, body, limits), signal)
        const code = codeOf(answer.body)
        if (!SHORT_WAIT.has(code) && !MOVED.has(code)) {
          if (code !== CODE.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) return {body: answer.body, code}
          throw notAuthorized(this.transactionalId, api.name)
        }
        failure = protocolError(code, api.name, {transactionalId: this.transactionalId, broker: node})
        if (MOVED.has(code)) this.#node = null
        wait = MOVED.has(code) ? backoffMs(++failures) : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** waits++)
      } catch (error) {
        signal?.throwIfAborted()
        failure = failureOf(error)
        if (!failure.retriable) throw failure
        this.#node = null
        wait = backoffMs(++failures)
      }
      const now = this.#clock.monotonic()
      if (now + wait >= deadline) throw noCoordinator(this.transactionalId, now - start, failure)
      await this.#clock.sleep(wait, {signal})
    }
  }

  #forPerson(failure: KdlqError, api: string): KdlqError {
    const refused = failure.context['protocolCode'] === CODE.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return refused ? notAuthorized(this.transactionalId, api, failure) : failure
  }
}
