/** Completion scripts, made from the same declarations as the commands and their help. */

export type Shell = 'bash' | 'zsh' | 'fish'

export interface CompletionFlag {
  readonly name: string
  readonly char: string | null
  readonly summary: string
  /** Null = the flag takes no value. */
  readonly values: readonly string[] | null
}

export interface CompletionCommand {
  /** With spaces: `config init`. */
  readonly id: string
  readonly summary: string
  readonly flags: readonly CompletionFlag[]
}

/** @returns a script for the shell to source */
export function completionScript(shell: Shell, bin: string, commands: readonly CompletionCommand[]): string {
  const sorted = commands.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  const makers: Record<Shell, () => string> = {
    bash: () => bashScript(bin, sorted),
    zsh: () => zshScript(bin, sorted),
    fish: () => fishScript(bin, sorted),
  }
  return makers[shell]()
}

const flagWords = ({flags}: CompletionCommand): string[] =>
  flags.flatMap(({name, char}) => (char === null ? [`--${name}`] : [`--${name}`, `-${char}`]))

function bashScript(bin: string, commands: readonly CompletionCommand[]): string {
  const cases = commands.map(command => `    "${command.id}") words="${flagWords(command).join(' ')}" ;;`)
  const values = new Map(
    commands.flatMap(({flags}) =>
      flags.flatMap(({name, values: list}) => (list === null || list.length === 0 ? [] : [[name, list] as const])),
    ),
  )
  const valueCases = [...values].map(
    ([name, list]) => `    --${name}) COMPREPLY=($(compgen -W "${list.join(' ')}" -- "$current")); return ;;`,
  )
  const firsts = [...new Set(commands.map(({id}) => id.split(' ')[0] ?? ''))]
  const seconds = commands.filter(({id}) => id.includes(' '))
  const nested = [...new Set(seconds.map(({id}) => id.split(' ')[0] ?? ''))].map(
    first =>
      `    ${first}) words="${seconds
        .filter(({id}) => id.startsWith(`${first} `))
        .map(({id}) => id.slice(first.length + 1))
        .join(' ')}" ;;`,
  )
  return `# bash completion for ${bin}: source <(${bin} completion bash)
_${bin}() {
  local current previous words command
  current="\${COMP_WORDS[COMP_CWORD]}"
  previous="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$previous" in
${valueCases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${firsts.join(' ')}" -- "$current"))
    return
  fi
  command="\${COMP_WORDS[1]}"
  case "$command" in
${nested.join('\n')}
  esac
  if [ -n "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  if [ -n "$words" ]; then command="$command \${COMP_WORDS[2]}"; fi
  case "$command" in
${cases.join('\n')}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}
complete -o filenames -F _${bin} ${bin}
`
}

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

function zshScript(bin: string, commands: readonly CompletionCommand[]): string {
  const described = (text: string): string => text.replaceAll(/[[\]:\\]/g, String.raw`\$&`)
  const cases = commands.map(({id, flags}) => {
    const specs = flags.flatMap(({name, char, summary, values}) => {
      const value = values === null ? '' : values.length > 0 ? `:value:(${values.join(' ')})` : ':value:_files'
      return [`--${name}`, ...(char === null ? [] : [`-${char}`])].map(word =>
        quote(`*${word}[${described(summary)}]${value}`),
      )
    })
    return `    ${quote(id)}) _arguments ${specs.join(' ')} '*:file:_files' ;;`
  })
  const list = commands.map(({id, summary}) => quote(`${described(id)}:${described(summary)}`))
  return `#compdef ${bin}
# zsh completion for ${bin}: source <(${bin} completion zsh)
_${bin}() {
  local -a commands
  commands=(${list.join(' ')})
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="$words[2]"
  [[ "$command" == config ]] && command="$words[2] $words[3]"
  case "$command" in
${cases.join('\n')}
  esac
}
compdef _${bin} ${bin}
`
}

function fishScript(bin: string, commands: readonly CompletionCommand[]): string {
  const lines = [`# fish completion for ${bin}: ${bin} completion fish | source`]
  for (const {id, summary, flags} of commands) {
    const [first = '', second] = id.split(' ')
    const when = second === undefined ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${first}`
    if (second !== undefined) lines.push(`complete -c ${bin} -f -n __fish_use_subcommand -a ${first}`)
    lines.push(`complete -c ${bin} -f -n ${quote(when)} -a ${second ?? first} -d ${quote(summary)}`)
    for (const flag of flags) {
      const value =
        flag.values === null ? '' : flag.values.length > 0 ? ` -x -a ${quote(flag.values.join(' '))}` : ' -r'
      const short = flag.char === null ? '' : ` -s ${flag.char}`
      lines.push(
        `complete -c ${bin} -n ${quote(`__fish_seen_subcommand_from ${second ?? first}`)} -l ${flag.name}${short}${value} -d ${quote(flag.summary)}`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}
