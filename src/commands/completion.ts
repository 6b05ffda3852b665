import * as Args from '@oclif/core/args'
import {BaseCommand} from '../lib/cli/base-command.ts'
import {completionScript, type Shell} from '../lib/cli/completion.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export interface CompletionResult {
  readonly shell: Shell
}

export default class Completion extends BaseCommand<CompletionResult> {
  static override summary = 'Print a completion script for your shell.'
  static override description =
    'The script is made from the same declarations as the commands: print it again after an update.'
  static override examples = [
    {description: 'For this session of bash.', command: 'source <(<%= config.bin %> <%= command.id %> bash)'},
    {
      description: 'For every session of fish.',
      command: '<%= config.bin %> <%= command.id %> fish > ~/.config/fish/completions/<%= config.bin %>.fish',
    },
  ]
  static override args = {
    shell: Args.string({options: SHELLS, required: true, ignoreStdin: true, description: 'bash, zsh or fish.'}),
  }

  async run(): Promise<CompletionResult> {
    const {args} = await this.parse(Completion)
    const commands = this.config.commands
      .filter(({hidden}) => !hidden)
      .map(({id, summary, flags}) => ({
        id: id.replaceAll(':', ' '),
        summary: summary ?? '',
        flags: Object.values(flags).flatMap(flag => [
          {
            name: flag.name,
            char: flag.char ?? null,
            summary: flag.summary ?? '',
            values: flag.type === 'option' ? (flag.options ?? []) : null,
          },
        ]),
      }))
    // oclif has checked the word against the list.
    const shell = SHELLS.find(known => known === args.shell) ?? 'bash'
    await this.print(completionScript(shell, this.config.bin, commands))
    return {shell}
  }
}
