import {FAILURE_FIELDS, type FailureField} from '../../dialects/mapped-fields.ts'
import type {HeaderMappings} from '../../dialects/families/custom.ts'

/** Settings of one profile or one file, as they stand in YAML. */
export interface Settings {
  readonly bootstrapServers?: string | readonly string[]
  readonly commandConfig?: string
  readonly security?: SecuritySettings
  readonly tls?: TlsSettings
  /** Addresses, or addresses and how to sign in. */
  readonly schemaRegistry?: string | SchemaRegistrySettings
  readonly connectUrls?: string | readonly string[]
  readonly allowedTargets?: string | readonly string[]
  readonly ledger?: string
  readonly readRate?: string
  /** Field of the failure to own header names. */
  readonly headerMappings?: Readonly<Partial<Record<FailureField, string | readonly string[]>>>
  readonly stripHeaders?: string | readonly string[]
  readonly redact?: string | readonly string[]
  readonly parkingTopic?: string
  readonly readOnly?: boolean
  /** Flag name to the text that would be typed. */
  readonly defaults?: Readonly<Record<string, FlagValue>>
}

export type FlagWord = string | number | boolean
export type FlagValue = FlagWord | readonly FlagWord[]

export interface SecuritySettings {
  readonly protocol?: string
  readonly mechanism?: string
  readonly username?: string
  readonly passwordFile?: string
  readonly passwordEnv?: string
  readonly passwordCommand?: string
}

export interface TlsSettings {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly pfx?: string
  readonly serverName?: string
}

/** Basic auth by username and password, or a bearer token, or a certificate of our own. */
export interface SchemaRegistrySettings {
  readonly url?: string | readonly string[]
  readonly username?: string
  readonly passwordFile?: string
  readonly passwordEnv?: string
  readonly passwordCommand?: string
  readonly tokenFile?: string
  readonly tokenEnv?: string
  readonly tokenCommand?: string
  readonly tls?: Pick<TlsSettings, 'ca' | 'cert' | 'key'>
}

export interface UserFile extends Settings {
  readonly profile?: string
  readonly profiles?: Readonly<Record<string, Settings>>
}

/** One file that was read, and where it lies. */
export interface LoadedFile {
  readonly path: string
  readonly content: UserFile
}

/** What the files say for this run. */
export interface Configuration {
  /** `config.yaml` of the user; null when there is none. */
  readonly user: LoadedFile | null
  /** `.kdlq.yaml` of the working directory; null when there is none. */
  readonly project: LoadedFile | null
}

/** Settings in force: of the chosen profile, else of the working directory's file, else of the user's file. */
export interface EffectiveSettings extends Settings {
  /** Null when no profile is in force. */
  readonly profileName: string | null
}

/** One text or a list of them, as a list; a number in a file is the text of it. */
export function asList(value: string | number | readonly (string | number)[] | undefined): readonly string[] {
  if (value === undefined) return []
  if (typeof value === 'number') return [String(value)]
  return typeof value === 'string' ? value.split(',').map(part => part.trim()) : value.map(String)
}

/** Own header names of the settings, as a list for each field. */
export function headerMappingsOf({headerMappings = {}}: Settings): HeaderMappings {
  return Object.fromEntries(
    FAILURE_FIELDS.flatMap(field => {
      const names = asList(headerMappings[field])
      return names.length === 0 ? [] : [[field, names] as const]
    }),
  )
}
