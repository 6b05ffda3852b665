import type {DialectReading} from '../dialect.ts'
import {HeaderReader} from '../header-reader.ts'
import type {FailureException} from '../model.ts'
import {rootCauseOf} from '../root-cause.ts'

/** Header names of an exception; left out = the family does not have it. */
export interface ExceptionNames {
  readonly class?: string
  readonly message?: string
  readonly stack?: string
  readonly code?: string
}

/** Builds up the failure that one family tells, from the latest header of each name. */
export class FamilyReader extends HeaderReader {
  readonly failure: DialectReading['failure'] = {}

  /** Puts a field into the failure unless there is nothing to put. */
  set<Field extends keyof DialectReading['failure']>(
    field: Field,
    value: DialectReading['failure'][Field] | undefined,
  ): void {
    if (value !== undefined) this.failure[field] = value
  }

  /** The exception as far as there is one; its root cause is that of the stack trace. */
  exception(names: ExceptionNames): FailureException | undefined {
    const exception: FailureException = {}
    const className = names.class === undefined ? undefined : this.text(names.class)
    if (className !== undefined) exception.class = className
    const message = names.message === undefined ? undefined : this.nullableText(names.message)
    if (message !== undefined) exception.message = message
    const stack = names.stack === undefined ? undefined : this.text(names.stack)
    if (stack !== undefined) {
      exception.stack = stack
      const cause = rootCauseOf(stack)
      if (cause !== undefined) exception.cause = cause.class
    }
    const code = names.code === undefined ? undefined : this.text(names.code)
    if (code !== undefined) exception.code = code
    return Object.keys(exception).length === 0 ? undefined : exception
  }

  /** @param at all names that the family writes, or the position of its last header */
  finish(at: readonly string[] | number): DialectReading {
    const lastHeaderIndex =
      typeof at === 'number' ? at : Math.max(-1, ...at.map(name => this.headers.last(name)?.index ?? -1))
    return {failure: {...this.failure, ...this.warnings()}, lastHeaderIndex}
  }
}

/** Tests header names against a fixed list, byte for byte. */
export function nameSet(names: readonly string[]): (name: Buffer) => boolean {
  const known = new Set(names)
  return name => known.has(name.toString('latin1'))
}
