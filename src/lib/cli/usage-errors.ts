import type {KdlqError} from '../errors.ts'
import {ConfigError, UsageError} from '../errors.ts'
import {nearest} from '../suggest.ts'
import {isRecord} from './guards.ts'
import type {Environment} from './io.ts'

/** The parts of oclif's parse errors that are read here; its classes are not exported by name. */
interface ParseFailure {
  readonly message: string
  readonly flags?: readonly string[]
  readonly args?: readonly unknown[]
  readonly parse?: {
    readonly input?: {readonly flags?: Record<string, {readonly char?: string; readonly hidden?: boolean}>}
  }
  readonly oclif?: {readonly exit?: number}
}

const PARSING_FLAG = /^Parsing --(\S+) \n\t([\s\S]*)\nSee more help with --help$/

/**
 * Words of an error that was thrown while a flag's value was parsed: oclif puts its own frame around the message, and
 * blames the flag also when an environment variable gave the value.
 * @returns the same error, its message changed
 */
export function unframeFlagError<E extends Error>(error: E, env: Environment, argv: readonly string[]): E {
  const match = PARSING_FLAG.exec(error.message)
  if (match === null) return error
  const [, flag = '', words = ''] = match
  const origin = flagOrigin(flag, env, argv)
  error.message = words.startsWith(`--${flag} `) ? `${origin}${words.slice(flag.length + 2)}` : `${origin}: ${words}`
  return error
}

/** `--timeout`, or the variable that gave its value: a forgotten one is hard to find otherwise. */
function flagOrigin(flag: string, env: Environment, argv: readonly string[]): string {
  const variable = environmentName(flag)
  const given = argv.some(arg => arg === `--${flag}` || arg.startsWith(`--${flag}=`))
  return !given && env[variable] !== undefined && env[variable] !== '' ? variable : `--${flag}`
}

/** Name of the environment variable that stands for a flag, e.g. `KDLQ_BOOTSTRAP_SERVER`. */
export function environmentName(flag: string): string {
  return `KDLQ_${flag.toUpperCase().replaceAll('-', '_')}`
}

/** True for errors of oclif's argument parser and of oclif itself (they carry an `oclif` member). */
export function isOclifError(error: unknown): error is Error & ParseFailure {
  return error instanceof Error && 'oclif' in error
}

/** oclif's own complaint as a UsageError with a suggestion; `command` is the command's id with spaces. */
export function toUsageError(error: Error & ParseFailure, command: string): UsageError {
  const help = `see: kdlq ${command === '' ? '' : `${command} `}--help`
  const flags = error.parse?.input?.flags ?? {}
  if (error.flags !== undefined && error.message.startsWith('Nonexistent flag')) {
    const names = error.flags.map(flag => flag.replace(/=.*$/s, ''))
    const hints = names.flatMap(name => {
      const meant = meantWord(name.replace(/^-+/, ''), Object.keys(flags))
      return meant === null ? [] : [`did you mean --${meant}?`]
    })
    return new UsageError(`unknown flag ${names.join(', ')}`, {
      code: 'E_UNKNOWN_FLAG',
      hints: [...hints, help],
      cause: error,
    })
  }
  if (error.args !== undefined && error.message.startsWith('Missing ')) {
    const names = error.args.flatMap(arg =>
      isRecord(arg) && typeof arg['name'] === 'string' ? [arg['name'].toUpperCase()] : [],
    )
    return new UsageError(`missing argument ${names.join(', ')}`, {
      code: 'E_MISSING_ARGUMENT',
      hints: [help],
      cause: error,
    })
  }
  const lines = error.message
    .replace(/\nSee more help with --help$/, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  const words = lines.join(' ')
  return new UsageError(lowerFirst(words === '' ? 'wrong use' : words), {hints: [help], cause: error})
}

/** A word behind a command that takes none. */
export function unexpectedArgument(word: string, command: string): UsageError {
  return new UsageError(`unexpected argument ${JSON.stringify(word)}`, {hints: [`see: kdlq ${command} --help`]})
}

/** The known word that was meant: nearest by edits, the only one it begins, or one with two letters swapped. */
function meantWord(word: string, known: readonly string[]): string | null {
  const begun = known.filter(candidate => word.length > 1 && candidate.startsWith(word))
  const letters = (text: string): string => text.split('').toSorted().join('')
  const swapped = known.find(candidate => letters(candidate) === letters(word))
  return nearest(word, known) ?? swapped ?? (begun.length === 1 ? (begun[0] ?? null) : null)
}

/** No command of that name. */
export function unknownCommand(name: string, known: readonly string[]): UsageError {
  const meant = meantWord(name, known)
  return new UsageError(`unknown command ${JSON.stringify(name)}`, {
    code: 'E_UNKNOWN_COMMAND',
    hints: [...(meant === null ? [] : [`did you mean: kdlq ${meant}`]), 'kdlq help lists the commands'],
  })
}

/** A word that is not one of the known ones, with a suggestion; for configuration keys and column names. */
export function unknownWord(
  kind: string,
  word: string,
  known: readonly string[],
  where: 'usage' | 'config' = 'usage',
): KdlqError {
  const meant = meantWord(word, known)
  const hints = meant === null ? [`known: ${known.join(', ')}`] : [`did you mean ${meant}?`]
  const message = `unknown ${kind} ${JSON.stringify(word)}`
  return where === 'usage' ? new UsageError(message, {hints}) : new ConfigError(message, {hints})
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}
