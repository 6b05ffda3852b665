import {FAILURE_FIELDS} from '../../dialects/mapped-fields.ts'
import {ConfigError} from '../../errors.ts'
import {didYouMean} from '../../suggest.ts'
import type {UserFile} from './settings.ts'

/** What a configuration value may be. */
export type Shape =
  | {readonly kind: 'text' | 'flag' | 'texts' | 'words'}
  | {readonly kind: 'one'; readonly of: readonly string[]}
  /** Own names to values of one shape. */
  | {readonly kind: 'map'; readonly of: Shape}
  | {readonly kind: 'object'; readonly members: Readonly<Record<string, Shape>>}
  /** A text for the usual case, else an object. */
  | {readonly kind: 'text-or'; readonly object: Shape}

const text: Shape = {kind: 'text'}
/** A text, or a list of texts. */
const texts: Shape = {kind: 'texts'}
const flag: Shape = {kind: 'flag'}
/** A flag's value as it would be typed: text, number, true or false, or a list of them. */
const defaults: Shape = {kind: 'map', of: {kind: 'words'}}

/** Settings that a profile and the file itself may both have. */
const shared = {
  headerMappings: {kind: 'object', members: Object.fromEntries(FAILURE_FIELDS.map(field => [field, texts]))},
  stripHeaders: texts,
  redact: texts,
  parkingTopic: text,
  readOnly: flag,
  defaults,
} as const satisfies Record<string, Shape>

const profile = {
  kind: 'object',
  members: {
    bootstrapServers: texts,
    commandConfig: text,
    security: {
      kind: 'object',
      members: {
        protocol: {kind: 'one', of: ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL']},
        mechanism: {kind: 'one', of: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']},
        username: text,
        passwordFile: text,
        passwordEnv: text,
        passwordCommand: text,
      },
    },
    tls: {kind: 'object', members: {ca: text, cert: text, key: text, pfx: text, serverName: text}},
    schemaRegistry: {
      kind: 'text-or',
      object: {
        kind: 'object',
        members: {
          url: texts,
          username: text,
          passwordFile: text,
          passwordEnv: text,
          passwordCommand: text,
          tokenFile: text,
          tokenEnv: text,
          tokenCommand: text,
          tls: {kind: 'object', members: {ca: text, cert: text, key: text}},
        },
      },
    },
    connectUrls: texts,
    allowedTargets: texts,
    ledger: text,
    readRate: text,
    ...shared,
  },
} as const satisfies Shape

/** Names of the settings that a profile may have. */
export const profileSettings: readonly string[] = Object.keys(profile.members)

/** The file in the user's configuration folder. */
export const userFile: Shape = {
  kind: 'object',
  members: {profile: text, profiles: {kind: 'map', of: profile}, ...shared},
}

/** `.kdlq.yaml` in the working directory: a foreign checkout must not redirect credentials. */
export const projectFile: Shape = {kind: 'object', members: {profile: text, ...shared}}

const NUMBERS_AS_TEXT: ReadonlySet<string> = new Set(['text', 'texts', 'text-or'])

/** A copy of a parsed YAML document in which a number that stands for a text is the text of it. */
export function withTexts(value: unknown, shape: Shape): unknown {
  if (typeof value === 'number') return NUMBERS_AS_TEXT.has(shape.kind) ? String(value) : value
  if (Array.isArray(value)) return shape.kind === 'texts' ? value.map((item: unknown) => withTexts(item, shape)) : value
  if (typeof value !== 'object' || value === null) return value
  const inner = shape.kind === 'text-or' ? shape.object : shape
  const shapeOf = (name: string): Shape | undefined => {
    if (inner.kind === 'map') return inner.of
    return inner.kind === 'object' && Object.hasOwn(inner.members, name) ? inner.members[name] : undefined
  }
  const entries = Object.entries(value).map(([name, member]) => {
    const own = shapeOf(name)
    return [name, own === undefined ? (member as unknown) : withTexts(member, own)] as const
  })
  return Object.fromEntries(entries)
}

/**
 * Checks a parsed YAML document; null stands for an empty one.
 * @throws ConfigError naming the key
 */
export function assertShape(value: unknown, shape: Shape, file: string): asserts value is UserFile | null | undefined {
  checkShape(value, shape, file)
}

/**
 * Checks one value of a document.
 * @param file names it in errors
 * @throws ConfigError naming the key: unknown (with a suggestion), or of a wrong form
 */
function checkShape(value: unknown, shape: Shape, file: string, path = ''): void {
  switch (shape.kind) {
    case 'text':
      if (typeof value !== 'string') throw wrongForm(file, path, 'a text')
      return
    case 'flag':
      if (typeof value !== 'boolean') throw wrongForm(file, path, 'true or false')
      return
    case 'texts':
      if (!isText(value) && !(Array.isArray(value) && value.every(isText)))
        throw wrongForm(file, path, 'a text or a list of texts')
      return
    case 'words':
      if (!isWord(value) && !(Array.isArray(value) && value.every(isWord)))
        throw wrongForm(file, path, "a flag's value or a list of them")
      return
    case 'text-or':
      if (!isText(value)) checkShape(value, shape.object, file, path)
      return
    case 'one':
      if (typeof value !== 'string' || !shape.of.includes(value))
        throw wrongForm(file, path, `one of ${shape.of.join(', ')}`)
      return
    case 'map':
      for (const [name, member] of membersOf(value, file, path)) checkShape(member, shape.of, file, join(path, name))
      return
    case 'object':
      for (const [name, member] of membersOf(value, file, path)) {
        const known = Object.hasOwn(shape.members, name) ? shape.members[name] : undefined
        if (known === undefined) throw unknownKey(file, join(path, name), name, Object.keys(shape.members))
        checkShape(member, known, file, join(path, name))
      }
  }
}

function membersOf(value: unknown, file: string, path: string): [string, unknown][] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongForm(file, path, 'a map of keys')
  return Object.entries(value)
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isWord = (value: unknown): boolean => isText(value) || typeof value === 'number' || typeof value === 'boolean'
const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

function unknownKey(file: string, path: string, name: string, known: readonly string[]): ConfigError {
  const near = didYouMean(name, known)
  return new ConfigError(`${file}: unknown key ${path}`, {
    hints: near.length > 0 ? near : [`known here: ${known.join(', ')}`],
    context: {file, key: path},
  })
}

function wrongForm(file: string, path: string, allowed: string): ConfigError {
  return new ConfigError(`${file}: ${path === '' ? 'the file' : path} has to be ${allowed}`, {
    context: {file, key: path},
  })
}
