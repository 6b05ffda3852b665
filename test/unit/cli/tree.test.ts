import {readdirSync} from 'node:fs'
import {join} from 'node:path'
import type {Command} from '@oclif/core'
import {describe, expect, test} from 'vitest'
import {COMMAND_GROUPS, FLAG_GROUPS} from '../../../src/lib/cli/help.ts'

const folder = join(import.meta.dirname, '../../../src/commands')

interface Loaded {
  readonly id: string
  readonly command: typeof Command
}

const loaded: Loaded[] = await Promise.all(
  readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter(file => file.endsWith('.ts'))
    .map(async file => ({
      id: file.replace(/\.ts$/, '').replaceAll('/', ' '),
      command: ((await import(join(folder, file))) as {default: typeof Command}).default,
    })),
)

const LETTERS: Readonly<Record<string, string>> = {
  b: 'bootstrap-server',
  o: 'output',
  n: 'limit',
  f: 'follow',
  y: 'yes',
  q: 'quiet',
  v: 'verbose',
}
const CONSENT = ['yes', 'allow', 'skip', 'force', 'take-over', 'resend-unknown']

const flagsOf = ({command}: Loaded) => Object.entries({...command.baseFlags, ...command.flags})

describe.each(loaded.map(one => [one.id, one] as const))('%s', (id, one) => {
  test('has a summary of one sentence, 10 to 60 characters', () => {
    expect(one.command.summary).toMatch(/^[A-Z].{8,58}\.$/)
  })

  test('has a description and at least one example, all of them runnable words', () => {
    expect(one.command.description?.length ?? 0).toBeGreaterThan(20)
    expect(one.command.examples.length).toBeGreaterThan(0)
    for (const example of one.command.examples) {
      expect(example).toHaveProperty('description', expect.stringMatching(/^[A-Z].*\.$/))
      expect((example as {command: string}).command).toContain('<%= config.bin %> <%= command.id %>')
    }
  })

  test('no argument is read from stdin behind the back of the user', () => {
    const reading = Object.entries(one.command.args ?? {}).filter(([, arg]) => arg.ignoreStdin !== true)
    expect(reading).toEqual([])
  })

  test('no repeatable flag swallows what follows it', () => {
    const greedy = flagsOf(one).filter(
      ([, flag]) => flag.type === 'option' && flag.multiple === true && flag.multipleNonGreedy !== true,
    )
    expect(greedy.map(([name]) => name)).toEqual([])
  })

  test('every flag has a summary, and only the seven known letters are used', () => {
    const silent = flagsOf(one).filter(([, flag]) => flag.summary?.endsWith('.') !== true)
    const unknown = flagsOf(one).filter(([name, {char}]) => char !== undefined && LETTERS[char] !== name)
    expect([...silent, ...unknown].map(([name]) => name)).toEqual([])
  })

  test('every group of flags has its place in the help', () => {
    const groups = flagsOf(one).map(([, {helpGroup}]) => (helpGroup ?? '').toUpperCase())
    expect(FLAG_GROUPS).toEqual(expect.arrayContaining(groups))
  })

  test('a variable is named after its flag, and consent has none', () => {
    const variables = flagsOf(one).flatMap(([name, {env}]) => (env === undefined ? [] : [[name, env] as const]))
    expect(variables).toEqual(variables.map(([name]) => [name, `KDLQ_${name.toUpperCase().replaceAll('-', '_')}`]))
    expect(variables.map(([name]) => name).filter(name => CONSENT.includes(name))).toEqual([])
  })

  test('stands in a group of the help', () => {
    expect(COMMAND_GROUPS.flatMap(([, ids]) => ids)).toContain(id)
  })
})

test('every --not- twin is hidden and stands beside its flag', () => {
  const twins = loaded.flatMap(one =>
    flagsOf(one)
      .filter(([name]) => name.startsWith('not-'))
      .map(([name, flag]) => ({one, name, flag})),
  )
  expect(twins.length).toBeGreaterThan(0)
  const wrong = twins.filter(
    ({one, name, flag}) => flag.hidden !== true || !(name.slice('not-'.length) in one.command.flags),
  )
  expect(wrong.map(({one, name}) => `${one.id} ${name}`)).toEqual([])
})
