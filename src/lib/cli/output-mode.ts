import type {Environment} from './io.ts'

export interface OutputMode {
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  readonly noColor: boolean
}

/**
 * How to tell about an error before (or although) the command line could not be parsed: read from the raw words, in the
 * order flag, environment.
 */
export function outputModeOf(argv: readonly string[], env: Environment): OutputMode {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  let format = env['KDLQ_OUTPUT'] ?? ''
  words.forEach((word, index) => {
    if (word === '--json') format = 'json'
    else if (word === '--output' || word === '-o') format = words[index + 1] ?? ''
    else if (word.startsWith('--output=')) format = word.slice('--output='.length)
    else if (word.startsWith('-o') && !word.startsWith('--')) format = word.slice(2).replace(/^=/, '')
  })
  return {
    json: format === 'json',
    quiet: words.includes('--quiet') || words.includes('-q'),
    verbose: words.includes('--verbose') || words.includes('-v'),
    noColor: words.includes('--no-color'),
  }
}
