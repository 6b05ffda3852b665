import {ConfigError} from '../../errors.ts'

/** One file's settings, and how to complain about them. */
export interface Settings {
  get(key: string): string | null
  wrong(key: string, reason: string, hints?: readonly string[]): ConfigError
}

/** Settings by key; errors name file and key, never a value. */
export function createSettings(found: ReadonlyMap<string, string>, file: string): Settings {
  return {
    get: key => found.get(key) ?? null,
    wrong: (key, reason, hints = []) => new ConfigError(`${file}: ${key} ${reason}`, {hints, context: {file, key}}),
  }
}
