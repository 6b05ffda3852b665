import * as Flags from '@oclif/core/flags'
import {BaseCommand, outputFormat} from '../../lib/cli/base-command.ts'
import {userFilePath} from '../../lib/cli/config/load.ts'
import {writeProfile} from '../../lib/cli/config/write.ts'
import {documentFlags} from '../../lib/cli/flags.ts'
import {UsageError} from '../../lib/errors.ts'
import {parseBootstrapServers} from '../../lib/kafka/client/security.ts'
import {envelope} from '../../lib/render/json.ts'

export interface ConfigInitResult {
  readonly path: string
  readonly profile: string
}

export default class ConfigInit extends BaseCommand<ConfigInitResult> {
  static override summary = 'Write a profile into the configuration file.'
  static override description = `Adds a profile to config.yaml in the configuration folder and makes it the one that is used by default. Other profiles and comments in the file stay. Secrets are not written: name a file or a variable that holds the password.

Exit codes: 0 done; 2 wrong use, or a profile of this name exists.`
  static override examples = [
    {
      description: 'A cluster without security.',
      command: '<%= config.bin %> <%= command.id %> --bootstrap-server localhost:9092',
    },
    {
      description: 'A cluster with TLS and a password from a variable.',
      command:
        '<%= config.bin %> <%= command.id %> --profile prod --bootstrap-server broker:9093 --protocol SASL_SSL --mechanism SCRAM-SHA-512 --username orders --password-env ORDERS_PASSWORD',
    },
  ]
  static override flags = {
    profile: Flags.string({helpValue: 'NAME', default: 'default', summary: 'Name of the profile; default "default".'}),
    'bootstrap-server': Flags.string({
      char: 'b',
      helpValue: 'HOST:PORT[,..]',
      required: true,
      summary: 'Brokers to ask first.',
    }),
    protocol: Flags.option({
      options: ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] as const,
      summary: 'security.protocol; default PLAINTEXT.',
    })(),
    mechanism: Flags.option({
      options: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const,
      summary: 'sasl.mechanism.',
      dependsOn: ['username'],
    })(),
    username: Flags.string({helpValue: 'NAME', summary: 'User for SASL.'}),
    'password-env': Flags.string({
      helpValue: 'VARIABLE',
      summary: 'Variable that holds the password.',
      exclusive: ['password-file'],
    }),
    'password-file': Flags.string({helpValue: 'FILE', summary: 'File that holds the password.'}),
    ca: Flags.string({helpValue: 'FILE', summary: 'PEM file of the authorities to trust.'}),
    'read-only': Flags.boolean({summary: 'Refuse every write with this profile.'}),
    ...documentFlags,
  }

  async run(): Promise<ConfigInitResult> {
    const {flags} = await this.parse(ConfigInit)
    const servers = flags['bootstrap-server']
    parseBootstrapServers(servers)
    if (flags.username !== undefined && flags['password-env'] === undefined && flags['password-file'] === undefined) {
      throw new UsageError('where the password is has to be said', {
        hints: ['add --password-env VARIABLE or --password-file FILE'],
      })
    }
    const {io, home, cwd} = this.runtime
    const path = userFilePath({env: io.env, home, cwd})
    const security = {
      ...(flags.protocol === undefined ? {} : {protocol: flags.protocol}),
      ...(flags.mechanism === undefined ? {} : {mechanism: flags.mechanism}),
      ...(flags.username === undefined ? {} : {username: flags.username}),
      ...(flags['password-env'] === undefined ? {} : {passwordEnv: flags['password-env']}),
      ...(flags['password-file'] === undefined ? {} : {passwordFile: flags['password-file']}),
    }
    await writeProfile(path, flags.profile, {
      bootstrapServers: servers.split(',').map(server => server.trim()),
      ...(Object.keys(security).length === 0 ? {} : {security}),
      ...(flags.ca === undefined ? {} : {tls: {ca: flags.ca}}),
      ...(flags['read-only'] ? {readOnly: true} : {}),
    })
    const result = {path, profile: flags.profile}
    if (outputFormat(flags) === 'json') await this.print(envelope(this.commandName, {result}, this.io.stdout.isTTY))
    else await this.say(`profile ${flags.profile} written to ${path}`)
    await this.suggestNext('kdlq config list')
    return result
  }
}
