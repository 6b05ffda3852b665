import {mkdir, readFile} from 'node:fs/promises'
import {dirname} from 'node:path'
import {ConfigError, UsageError} from '../../errors.ts'
import {errorCode} from '../guards.ts'
import {replaceFile} from '../replace-file.ts'
import type {Settings} from './settings.ts'

/**
 * Adds a profile to the user's file and makes it the default one; comments and other keys stay. The file is replaced as
 * a whole and readable by its owner only.
 * @throws UsageError when the profile exists; ConfigError when the file is no YAML
 */
export async function writeProfile(path: string, name: string, settings: Settings): Promise<void> {
  const {default: yaml} = await import('yaml')
  const document = yaml.parseDocument(await readText(path))
  if (document.errors.length > 0)
    throw new ConfigError(`${path} is not YAML`, {cause: document.errors[0], context: {file: path}})
  if (document.hasIn(['profiles', name])) {
    throw new UsageError(`a profile ${JSON.stringify(name)} exists already`, {
      hints: [`choose another name with --profile, or edit ${path}`],
      context: {file: path},
    })
  }
  document.setIn(['profile'], name)
  document.setIn(['profiles', name], document.createNode(settings))
  await mkdir(dirname(path), {recursive: true, mode: 0o700})
  await replaceFile(path, document.toString(), 0o600)
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return ''
    throw new ConfigError(`${path} cannot be read`, {cause: error, context: {file: path}})
  }
}
