import * as pty from '@lydell/node-pty'
import xterm from '@xterm/headless'
import {childEnv, dev, node, root} from './kdlq.ts'

export interface Terminal {
  /** Everything that came, with its escape sequences. */
  readonly raw: () => string
  /** The screen as a person sees it, trailing blanks removed. */
  readonly screen: () => Promise<string>
  readonly write: (text: string) => void
  /** Resolves when the screen shows the text, or the program has ended. */
  readonly until: (text: string) => Promise<void>
  readonly exitCode: Promise<number>
}

/** Runs kdlq on a terminal of this size. */
export function openTerminal(
  args: readonly string[],
  options: {readonly columns?: number; readonly env?: Readonly<Record<string, string>>} = {},
): Terminal {
  const columns = options.columns ?? 100
  const child = pty.spawn(node, [dev, ...args], {
    name: 'xterm-256color',
    cols: columns,
    rows: 50,
    cwd: root,
    env: childEnv({TERM: 'xterm-256color', ...options.env}),
  })
  const exit = Promise.withResolvers<number>()
  child.onExit(({exitCode}) => exit.resolve(exitCode))
  const view = new xterm.Terminal({cols: columns, rows: 50, allowProposedApi: true, convertEol: false})
  let raw = ''
  const waiting = new Set<() => void>()
  child.onData(data => {
    raw += data
    view.write(data)
    for (const look of waiting) look()
  })
  const screen = async (): Promise<string> => {
    await new Promise<void>(resolve => {
      view.write('', resolve)
    })
    const lines: string[] = []
    for (let row = 0; row < view.buffer.active.length; row++)
      lines.push(view.buffer.active.getLine(row)?.translateToString(true) ?? '')
    return lines.join('\n').trimEnd()
  }
  return {
    raw: () => raw,
    screen,
    write: text => child.write(text),
    exitCode: exit.promise,
    until: async text => {
      const found = Promise.withResolvers<void>()
      const look = (): void => {
        if (raw.includes(text)) found.resolve()
      }
      waiting.add(look)
      look()
      await Promise.race([found.promise, exit.promise])
      waiting.delete(look)
    },
  }
}
