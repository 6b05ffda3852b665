import * as Parser from '@oclif/core/parser'
import type {Command} from '@oclif/core'
import {ConfigError} from '../../errors.ts'
import type {FlagValue} from './settings.ts'

export interface DefaultsInput {
  /** All flags of the command, the common ones included. */
  readonly definitions: Command.Class['flags']
  /** Flag name to value, as the files say. */
  readonly defaults: Readonly<Record<string, FlagValue>>
  readonly context: Command
}

interface Parsed {
  readonly flags: Record<string, unknown>
  readonly metadata: {readonly flags: Readonly<Record<string, {readonly setFromDefault?: boolean} | undefined>>}
}

/**
 * Fills in flags that neither the command line nor the environment gave; mutates `parsed.flags`. Defaults of flags that
 * this command does not have belong to other commands and are left alone.
 * @throws ConfigError for a value that the flag does not take
 */
export async function applyFlagDefaults(
  parsed: Parsed,
  {definitions, defaults, context}: DefaultsInput,
): Promise<void> {
  const {flags} = parsed
  for (const [name, value] of Object.entries(defaults)) {
    const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (definition === undefined) continue
    const isGiven = flags[name] !== undefined && parsed.metadata.flags[name]?.setFromDefault !== true
    const isExcluded = (definition.exclusive ?? []).some(other => flags[other] !== undefined && flags[other] !== false)
    if (isGiven || isExcluded) continue
    // The words of the file go through the flag's own parser, alone: its rules are the same as on the command line.
    const {exclusive: _, dependsOn: __, ...alone} = definition
    try {
      const answer = await Parser.parse(wordsFor(name, definition.type, value), {
        flags: {[name]: alone},
        args: {},
        strict: true,
        context,
      })
      flags[name] = (answer.flags as Record<string, unknown>)[name]
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error)
      throw new ConfigError(
        `the configuration's default for --${name} is wrong: ${words.replaceAll(/\s+/g, ' ').replace(/ See more help with --help$/, '')}`,
        {cause: error},
      )
    }
  }
}

function wordsFor(name: string, type: 'boolean' | 'option', value: FlagValue): string[] {
  if (type === 'option') return (Array.isArray(value) ? value : [value]).map(word => `--${name}=${String(word)}`)
  if (typeof value !== 'boolean')
    throw new ConfigError(`the configuration's default for --${name} has to be true or false`)
  return value ? [`--${name}`] : []
}
