import {Chalk, type ChalkInstance} from 'chalk'

/** What a piece of text means; one place maps it to colours. Colour is never the only sign. */
export type Tone = 'plain' | 'heading' | 'faint' | 'name' | 'bad' | 'warn' | 'good' | 'bar'

export type Paint = (tone: Tone, text: string) => string

/** @param level 0 none, 1 sixteen colours, 2 256, 3 true colour */
export function createPaint(level: 0 | 1 | 2 | 3): Paint {
  if (level === 0) return (_, text) => text
  const chalk = new Chalk({level})
  const tones: Record<Exclude<Tone, 'plain'>, ChalkInstance> = {
    heading: chalk.bold,
    faint: chalk.dim,
    name: chalk.cyan,
    bad: chalk.red,
    warn: chalk.yellow,
    good: chalk.green,
    bar: chalk.blue,
  }
  return (tone, text) => (tone === 'plain' || text === '' ? text : tones[tone](text))
}
