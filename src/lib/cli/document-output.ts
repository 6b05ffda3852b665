import * as Flags from '@oclif/core/flags'
import {documentFlags, type OutputFormat} from './flags.ts'
import {environmentName} from './usage-errors.ts'

/** `--output` and `--json` of a command that has only some of the formats: help lists them, and no other is taken. */
export function documentOutput<const F extends readonly OutputFormat[]>(formats: F) {
  return {
    output: Flags.option({
      char: 'o',
      options: formats,
      helpGroup: 'output',
      env: environmentName('output'),
      summary: 'Format of the answer; default table.',
    })(),
    json: documentFlags.json,
  }
}
