import {execFile} from 'node:child_process'
import {readFile} from 'node:fs/promises'
import {promisify} from 'node:util'
import {ConfigError} from '../errors.ts'
import {Secret} from '../kafka/client/security.ts'
import type {Environment} from './io.ts'

/** Where a secret lies; one of the three. */
export interface SecretSource {
  readonly file?: string | undefined
  /** Name of an environment variable. */
  readonly env?: string | undefined
  /** Run by `/bin/sh`; its output is the secret. */
  readonly command?: string | undefined
}

/** Names for errors. */
export interface SecretNames {
  /** Settings as they stand in the file, by kind: `security.passwordFile`. */
  readonly file: string
  readonly env: string
  readonly command: string
  /** `password` or `token`. */
  readonly what: string
  readonly profile: string | null
}

/**
 * Reads a secret.
 * @throws ConfigError when not exactly one place is named, or nothing can be read there; never with the secret
 */
export async function readSecret(source: SecretSource, names: SecretNames, env: Environment): Promise<Secret> {
  const given = [source.file, source.env, source.command].filter(value => value !== undefined)
  if (given.length !== 1) {
    const [short, ...rest] = [names.file, last(names.env), last(names.command)]
    throw wrongProfile(names.profile, `one of ${short}, ${rest.join(' and ')} has to say where the ${names.what} is`)
  }
  if (source.env !== undefined) {
    const value = env[source.env]
    if (value === undefined || value === '')
      throw wrongProfile(names.profile, `the variable ${source.env} of ${names.env} is not set`)
    return new Secret(value)
  }
  try {
    const text =
      source.file === undefined
        ? (await promisify(execFile)('/bin/sh', ['-c', source.command ?? ''], {timeout: 30_000})).stdout
        : await readFile(source.file, 'utf8')
    return new Secret(text.replace(/\r?\n$/, ''))
  } catch (error) {
    // The command's own output stays out of the message: it may hold the secret.
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    const from = source.file === undefined ? names.command : names.file
    throw wrongProfile(names.profile, `the ${names.what} cannot be read from ${from}${code}`)
  }
}

/** An error about a profile's settings, or about those of a file without profiles. */
export function wrongProfile(profile: string | null, problem: string, hints: readonly string[] = []): ConfigError {
  return new ConfigError(profile === null ? problem : `profile ${profile}: ${problem}`, {hints})
}

const last = (name: string): string => name.slice(name.lastIndexOf('.') + 1)
