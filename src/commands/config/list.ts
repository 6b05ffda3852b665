import {BaseCommand, outputFormat} from '../../lib/cli/base-command.ts'
import {projectFilePath, userFilePath} from '../../lib/cli/config/load.ts'
import {asList} from '../../lib/cli/config/settings.ts'
import {documentFlags} from '../../lib/cli/flags.ts'
import {envelope} from '../../lib/render/json.ts'
import {sanitize} from '../../lib/render/sanitize.ts'

export interface ConfigListResult {
  readonly files: readonly {readonly path: string; readonly exists: boolean}[]
  readonly profiles: readonly {
    readonly name: string
    readonly bootstrapServers: readonly string[]
    readonly current: boolean
    readonly readOnly: boolean
  }[]
}

export default class ConfigList extends BaseCommand<ConfigListResult> {
  static override summary = 'List the configuration files and profiles.'
  static override description =
    'Marks the profile that is used when neither --profile nor KDLQ_PROFILE names one. Secrets are never printed; they are not in the files.'
  static override examples = [
    {description: 'What can be named with --profile.', command: '<%= config.bin %> <%= command.id %>'},
  ]
  static override flags = {...documentFlags}

  async run(): Promise<ConfigListResult> {
    const {flags} = await this.parse(ConfigList)
    const {user, project} = await this.configuration()
    const {io, home, cwd} = this.runtime
    const places = {env: io.env, home, cwd}
    const current = project?.content.profile ?? user?.content.profile
    const result: ConfigListResult = {
      files: [
        {path: userFilePath(places), exists: user !== null},
        {path: projectFilePath(places), exists: project !== null},
      ],
      profiles: Object.entries(user?.content.profiles ?? {}).map(([name, profile]) => ({
        name,
        bootstrapServers: asList(profile.bootstrapServers),
        current: name === current,
        readOnly: profile.readOnly === true,
      })),
    }
    if (outputFormat(flags) === 'json') {
      await this.print(envelope(this.commandName, {result}, this.io.stdout.isTTY))
      return result
    }
    for (const {path, exists} of result.files) await this.print(`${sanitize(path)}${exists ? '' : ' (not there)'}\n`)
    for (const {name, bootstrapServers, current: isCurrent, readOnly} of result.profiles) {
      await this.print(
        `${isCurrent ? '*' : ' '} ${sanitize(name)}  ${sanitize(bootstrapServers.join(','))}${readOnly ? '  read-only' : ''}\n`,
      )
    }
    if (result.profiles.length === 0) await this.say('no profiles yet: kdlq config init')
    return result
  }
}
