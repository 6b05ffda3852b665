import * as Args from '@oclif/core/args'
import {loadHelpClass} from '@oclif/core/help'
import {BaseCommand} from '../lib/cli/base-command.ts'
import {EXIT_CODES} from '../lib/cli/exit-codes.ts'
import {unknownCommand} from '../lib/cli/usage-errors.ts'

export interface HelpResult {
  readonly topic: string
}

export default class HelpCommand extends BaseCommand<HelpResult> {
  static override summary = 'Explain a command, or the exit codes.'
  static override description = 'Topics: every command, and exit-codes.'
  static override examples = [
    {description: 'What the exit codes mean.', command: '<%= config.bin %> <%= command.id %> exit-codes'},
    {description: 'The flags of one command.', command: '<%= config.bin %> <%= command.id %> inspect'},
  ]
  static override args = {
    topic: Args.string({
      multiple: true,
      ignoreStdin: true,
      description: 'Command, or exit-codes; nothing lists the commands.',
    }),
  }

  async run(): Promise<HelpResult> {
    const {args} = await this.parse(HelpCommand)
    const words: readonly string[] = args.topic ?? []
    const topic = words.join(' ')
    if (topic === 'exit-codes') await this.print(exitCodesText())
    else await this.showHelp(words)
    return {topic}
  }

  private async showHelp(words: readonly string[]): Promise<void> {
    const id = words.join(':')
    if (id !== '' && this.config.findCommand(id) === undefined && this.config.findTopic(id) === undefined) {
      throw unknownCommand(words.join(' '), [
        ...this.config.commandIDs.map(known => known.replaceAll(':', ' ')),
        'exit-codes',
      ])
    }
    const HelpClass = await loadHelpClass(this.config)
    await new HelpClass(this.config, {...this.config.pjson.oclif.helpOptions}).showHelp([...words])
  }
}

function exitCodesText(): string {
  const rows = EXIT_CODES.map(([code, meaning]) => `${`${code}`.padStart(5)}  ${meaning}\n`)
  return `Exit codes, the same in every output mode:\n\n${rows.join('')}`
}
