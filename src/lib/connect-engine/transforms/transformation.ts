import type {ConnectRecordFields, RecordChanges} from '../data.ts'
import type {RetryWithToleranceOperator} from '../engine.ts'
import type {ProcessingContext} from '../processing-context.ts'

/** A record that transforms can change: sink records are, source records are wrapped. */
export interface TransformableRecord<R> extends ConnectRecordFields {
  newRecord(changes: RecordChanges): R
}

/** A single message transform (KIP-66). */
export interface Transformation {
  /** Name to publish as the executing class, in Java's binary form. */
  readonly className: string
  /** The record, changed or not; null drops it. */
  apply<R extends TransformableRecord<R>>(record: R): R | null | Promise<R | null>
  close?(): void | Promise<void>
}

/** Decides whether a transform is applied (KIP-585). */
export interface Predicate {
  test(record: ConnectRecordFields): boolean
}

/** One transform with its predicate; what the engine retries as a whole. */
export interface TransformationStage {
  readonly transformation: Transformation
  /** Null = always applied. */
  readonly predicate: Predicate | null
  readonly negate: boolean
}

/**
 * All transforms in order, each an operation of its own; the first that answers null ends it.
 * @returns null for a record that was dropped, or given up (`context.failed`)
 * @throws as `RetryWithToleranceOperator.execute`
 */
export async function applyTransformations<T, R extends TransformableRecord<R>>(
  operator: RetryWithToleranceOperator<T>,
  stages: readonly TransformationStage[],
  context: ProcessingContext<T>,
  record: R,
): Promise<R | null> {
  let current = record
  for (const {transformation, predicate, negate} of stages) {
    const input = current
    const operation = (): R | null | Promise<R | null> =>
      predicate === null || predicate.test(input) !== negate ? transformation.apply(input) : input
    const output = await operator.execute(context, operation, 'TRANSFORMATION', transformation.className)
    if (output === null) return null
    current = output
  }
  return current
}
