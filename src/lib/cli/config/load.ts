import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {ConfigError} from '../../errors.ts'
import {didYouMean} from '../../suggest.ts'
import {errorCode} from '../guards.ts'
import {CONSENT_FLAGS, connectionFlags} from '../flags.ts'
import type {Environment} from '../io.ts'
import {assertShape, projectFile, type Shape, userFile, withTexts} from './schema.ts'
import {
  asList,
  type Configuration,
  type EffectiveSettings,
  type FlagValue,
  type LoadedFile,
  type Settings,
} from './settings.ts'

export interface Places {
  readonly env: Environment
  readonly home: string
  readonly cwd: string
}

/** Words of `redact` that are no names. */
const REDACT_WORDS: readonly string[] = ['$key', '$value']

/** Path of the user's configuration file, whether it exists or not. */
export function userFilePath({env, home}: Places): string {
  const base = env['XDG_CONFIG_HOME']
  return join(base === undefined || base === '' ? join(home, '.config') : base, 'kdlq', 'config.yaml')
}

/** Path of the working directory's file, whether it exists or not. */
export function projectFilePath({cwd}: Places): string {
  return join(cwd, '.kdlq.yaml')
}

/**
 * Reads both files; a missing one is no error.
 * @throws ConfigError for a file that is no YAML, has unknown keys, or (in the working directory) sets what it may not
 */
export async function loadConfiguration(places: Places): Promise<Configuration> {
  const user = await readYaml(userFilePath(places), userFile)
  const project = await readYaml(projectFilePath(places), projectFile)
  if (project !== null) checkProjectFile(project)
  for (const file of [user, project]) {
    if (file === null) continue
    for (const settings of [file.content, ...Object.values(file.content.profiles ?? {})])
      checkDefaults(settings, file.path)
  }
  return {user, project}
}

async function readYaml(path: string, shape: Shape): Promise<LoadedFile | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw new ConfigError(`${path} cannot be read`, {cause: error, context: {file: path}})
  }
  // The default export: a bundle has no named ones of a CommonJS package.
  const {default: yaml} = await import('yaml')
  let content: unknown
  try {
    content = withTexts(yaml.parse(text, {maxAliasCount: 100}), shape)
  } catch (error) {
    const words = error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''
    throw new ConfigError(`${path} is not YAML: ${words.charAt(0).toLowerCase()}${words.slice(1)}`, {
      cause: error,
      context: {file: path},
    })
  }
  assertShape(content, shape, path)
  return {path, content: content ?? {}}
}

function checkProjectFile({path, content}: LoadedFile): void {
  if (content.readOnly === false) {
    throw new ConfigError(`${path}: readOnly may only be true here`, {
      hints: ['a file in the working directory can take rights away, not give them'],
      context: {file: path},
    })
  }
  const connecting = Object.keys(content.defaults ?? {}).filter(name => Object.hasOwn(connectionFlags, name))
  const refused = connecting.find(name => name !== 'timeout' && name !== 'read-rate')
  if (refused !== undefined) {
    throw new ConfigError(`${path}: defaults.${refused} may not stand here`, {
      hints: [
        'a file in the working directory cannot say where to connect; put it into a profile and name the profile',
      ],
      context: {file: path},
    })
  }
}

function checkDefaults(settings: Settings, path: string): void {
  const consent = Object.keys(settings.defaults ?? {}).find(name => CONSENT_FLAGS.includes(name))
  if (consent !== undefined) {
    throw new ConfigError(`${path}: defaults.${consent} may not stand in a file`, {
      hints: ['consent is given on the command line only'],
      context: {file: path},
    })
  }
}

/**
 * Settings in force. Keys of the profile win over those of the working directory's file, these over the user's file;
 * `readOnly: true` anywhere holds, and so does every name in `redact`.
 * @param chosen `--profile` or `KDLQ_PROFILE`; null = what the files name
 * @throws ConfigError for a profile that does not exist, and for a word of `redact` that would hide nothing
 */
export function effectiveSettings({user, project}: Configuration, chosen: string | null): EffectiveSettings {
  const name = chosen ?? project?.content.profile ?? user?.content.profile ?? null
  const profiles = user?.content.profiles ?? {}
  const profile = name === null ? undefined : Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (name !== null && profile === undefined) {
    const near = didYouMean(name, Object.keys(profiles))
    throw new ConfigError(`there is no profile ${JSON.stringify(name)}`, {
      hints: [...near, 'kdlq config list shows the profiles, kdlq config init makes one'],
    })
  }
  const {profiles: _, profile: __, ...fromUser} = user?.content ?? {}
  const {profiles: ___, profile: ____, ...fromProject} = project?.content ?? {}
  const layers: readonly Settings[] = [fromUser, fromProject, profile ?? {}]
  const defaults: Record<string, FlagValue> = {}
  for (const layer of layers) Object.assign(defaults, layer.defaults)
  // What one file hides, no other file can show.
  const redact = [...new Set(layers.flatMap(layer => asList(layer.redact)))]
  for (const word of redact) assertRedactWord(word)
  return {
    ...fromUser,
    ...fromProject,
    ...profile,
    ...(redact.length === 0 ? {} : {redact}),
    defaults,
    readOnly: layers.some(layer => layer.readOnly === true),
    profileName: name,
  }
}

/** A slip in `$key` must not show what it was to hide. */
function assertRedactWord(word: string): void {
  if (!word.startsWith('$') || REDACT_WORDS.includes(word)) return
  throw new ConfigError(`redact: there is no ${JSON.stringify(word)}`, {
    hints: [...didYouMean(word, REDACT_WORDS), 'a word with $ is $key or $value; a name has no $ in front'],
    context: {key: 'redact'},
  })
}
