import {ConfigError} from '../errors.ts'

/** Releases that the engine can behave like: `P39` = 3.8 and 3.9, `P4x` = 4.0 and later. */
export type Profile = 'P39' | 'P4x'

/** What the engine is like unless told otherwise. */
export const DEFAULT_PROFILE: Profile = 'P4x'

/** Values of `errors.tolerance`. */
export type Tolerance = 'none' | 'all'

/** Departures from the profile, each off (or as the profile has it) unless asked for. */
export interface EngineSwitches {
  /** A retriable error that ran out of time obeys the tolerance (KAFKA-18073). Profile: P4x true, P39 false. */
  readonly retriableObeysTolerance?: boolean | undefined
  /** A task whose failure report exceeded the tolerance dies after `put`, though it caught the exception (KIP-610). */
  readonly killAfterPut?: boolean | undefined
  /** Offsets wait for the dead letters of converters and transforms too, not only for those that a task reported. */
  readonly awaitConverterDlq?: boolean | undefined
  /** A dead letter that failed at once is seen by whoever asks for the report's outcome, beside other reporters too. */
  readonly surfaceSyncDlqFailure?: boolean | undefined
  /** Settings that KIP-298 does not allow are refused: delay below 1, timeout below -1, replication factor 0 or < -1. */
  readonly validateRanges?: boolean | undefined
}

/** Every switch with its value. */
export type ResolvedSwitches = {readonly [Name in keyof EngineSwitches]-?: boolean}

/** The switches of a profile with what was asked for on top. */
export function resolveSwitches(profile: Profile, switches: EngineSwitches = {}): ResolvedSwitches {
  return {
    retriableObeysTolerance: switches.retriableObeysTolerance ?? profile === 'P4x',
    killAfterPut: switches.killAfterPut ?? false,
    awaitConverterDlq: switches.awaitConverterDlq ?? false,
    surfaceSyncDlqFailure: switches.surfaceSyncDlqFailure ?? false,
    validateRanges: switches.validateRanges ?? false,
  }
}

/** Settings with a range of their own; absent = not checked. */
export interface RangedSettings {
  readonly retryTimeoutMs?: bigint
  readonly retryDelayMaxMs?: bigint
  readonly replicationFactor?: number
}

/**
 * The ranges that KIP-298 names and no release enforces.
 * @throws ConfigError that names the setting
 */
export function checkRanges({retryTimeoutMs, retryDelayMaxMs, replicationFactor}: RangedSettings): void {
  if (retryTimeoutMs !== undefined && retryTimeoutMs < -1n) {
    throw outOfRange('errors.retry.timeout', retryTimeoutMs, '-1 or more')
  }
  if (retryDelayMaxMs !== undefined && retryDelayMaxMs < 1n) {
    throw outOfRange('errors.retry.delay.max.ms', retryDelayMaxMs, '1 or more')
  }
  if (replicationFactor === undefined || replicationFactor === -1) return
  if (replicationFactor < 1 || replicationFactor > 32_767) {
    throw outOfRange('errors.deadletterqueue.topic.replication.factor', replicationFactor, '-1, or 1 to 32767')
  }
}

function outOfRange(key: string, value: bigint | number, range: string): ConfigError {
  return new ConfigError(`${key} is ${value}; it has to be ${range}`, {context: {key, value: String(value)}})
}
