import type {Config} from '@oclif/core/config'
import {unexpectedArgument, unknownCommand} from './usage-errors.ts'

/**
 * Id of the command that a line names, with spaces; empty for the help of the program.
 * @throws UsageError for a command that does not exist, with a suggestion
 */
export function commandOf(argv: readonly string[], config: Config): string {
  const firstFlag = argv.findIndex(word => word.startsWith('-'))
  const words = firstFlag === -1 ? argv : argv.slice(0, firstFlag)
  const known = config.commandIDs.map(id => id.replaceAll(':', ' '))
  for (let count = words.length; count > 0; count--) {
    const id = words.slice(0, count).join(':')
    const name = words.slice(0, count).join(' ')
    const next = words[count]
    const command = config.findCommand(id)
    if (command !== undefined) {
      // oclif would look for a command of both words.
      if (next !== undefined && Object.keys(command.args).length === 0) throw unexpectedArgument(next, name)
      return name
    }
    if (config.findTopic(id) === undefined) continue
    if (next !== undefined) throw unknownCommand(`${name} ${next}`, known)
    return name
  }
  const [first] = argv
  if (first === undefined || argv.includes('--help')) return ''
  throw unknownCommand(first, known)
}
