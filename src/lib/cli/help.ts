import type {Command, Interfaces} from '@oclif/core'
import {CommandHelp, Help} from '@oclif/core/help'
import {findRuntime, runtimeOf} from './runtime.ts'

/** Commands by what a person wants to do; a command that is missing here stands under MORE. */
export const COMMAND_GROUPS: readonly (readonly [title: string, ids: readonly string[]])[] = [
  ['LOOK', ['topics', 'inspect', 'show', 'stats', 'watch']],
  ['ACT', ['replay', 'resume', 'triage', 'redrive', 'purge', 'unblock']],
  ['PROVE', ['check', 'runs', 'report', 'simulate']],
  ['MOVE', ['export', 'import']],
  ['SET UP', ['config init', 'config list', 'doctor', 'completion', 'help', 'version']],
]

/** Groups of flags in order: what a command is about comes before what all commands have. */
export const FLAG_GROUPS: readonly string[] = [
  '',
  'SELECTION',
  'FILTER',
  'GROUPING',
  'SIMULATION',
  'TARGET',
  'RECORD',
  'FAILURE',
  'PACE',
  'LEDGER',
  'WRITING',
  'CONNECTION',
  'OUTPUT',
]

class GroupedCommandHelp extends CommandHelp {
  protected override groupFlags(flags: Command.Flag.Any[]): {
    flagGroups: Record<string, Command.Flag.Any[]>
    mainFlags: Command.Flag.Any[]
  } {
    const {flagGroups, mainFlags} = super.groupFlags(flags)
    const rank = (name: string): number =>
      FLAG_GROUPS.includes(name.toUpperCase()) ? FLAG_GROUPS.indexOf(name.toUpperCase()) : FLAG_GROUPS.length
    const sorted = Object.entries(flagGroups).toSorted(([left], [right]) => rank(left) - rank(right))
    return {flagGroups: Object.fromEntries(sorted), mainFlags}
  }

  /** The flags stand below in groups; a usage line with all of them says nothing. */
  protected override defaultUsage(): string {
    const args = Object.values(this.command.args).map(arg => `${this.arg(arg)}${arg.multiple === true ? '...' : ''}`)
    const required = Object.values(this.command.flags).flatMap(flag => {
      if (flag.required !== true || flag.type !== 'option') return []
      return [`--${flag.name} ${typeof flag.helpValue === 'string' ? flag.helpValue : 'VALUE'}`]
    })
    return [this.command.id, ...args, ...required, '[FLAGS]'].join(' ')
  }

  protected override description(): string | undefined {
    // The summary already stands above.
    const text = this.command.description
    const body = text === undefined || text === '' ? undefined : this.wrap(this.render(text))
    const hasTwins = Object.keys(this.command.flags).some(name => name.startsWith('not-'))
    if (!hasTwins) return body
    const line =
      'Every filter has a twin that leaves out what it would match: --not-stage, --not-exception, --not-header and so on.'
    return [body, this.wrap(line)].filter(part => part !== undefined && part !== '').join('\n\n')
  }
}

/** Help of the program: commands in groups, flags in groups. */
export default class KdlqHelp extends Help {
  protected override CommandHelpClass = GroupedCommandHelp

  constructor(config: Interfaces.Config, opts: Partial<Interfaces.HelpOptions> = {}) {
    super(config, {...opts, maxWidth: Math.min(findRuntime(config)?.io.stdout.width ?? 80, 120)})
  }

  protected override formatCommands(commands: Command.Loadable[]): string {
    const byId = new Map(commands.map(command => [command.id.replaceAll(':', ' '), command]))
    const sections: string[] = []
    const section = (title: string, ids: readonly string[]): void => {
      const rows = ids.flatMap((id): [string, string | undefined][] => {
        const command = byId.get(id)
        byId.delete(id)
        return command === undefined ? [] : [[id, this.summary(command)]]
      })
      if (rows.length > 0)
        sections.push(
          this.section(
            title,
            this.renderList(rows, {spacer: '\n', indentation: 2, stripAnsi: this.opts.stripAnsi ?? false}),
          ),
        )
    }
    for (const [title, ids] of COMMAND_GROUPS) section(title, ids)
    section('MORE', [...byId.keys()])
    return sections.join('\n\n')
  }

  protected override async showRootHelp(): Promise<void> {
    this.log(`${this.config.pjson['description'] ?? this.config.bin}\n`)
    this.log(`${this.section('USAGE', `$ ${this.config.bin} COMMAND [ARGUMENTS] [FLAGS]`)}\n`)
    const commands = this.sortedCommands.filter(({id, hidden}) => id !== '' && !hidden)
    this.log(this.formatCommands(commands))
    this.log('')
    this.log(
      `Help of a command: ${this.config.bin} COMMAND --help. Exit codes: ${this.config.bin} help exit-codes. Try: ${this.config.bin} inspect example:orders-dlq`,
    )
  }

  protected override log(...lines: string[]): void {
    // Not awaited: main flushes the stream before the program ends.
    // oclif does not wait for its help; the flush at the end tells what went wrong.
    runtimeOf(this.config)
      .io.stdout.write(`${lines.join(' ')}\n`)
      .catch(() => undefined)
  }
}
