import {BaseCommand, outputFormat} from '../lib/cli/base-command.ts'
import {documentFlags} from '../lib/cli/flags.ts'
import {envelope} from '../lib/render/json.ts'

export interface VersionResult {
  readonly version: string
  readonly node: string
  readonly platform: string
}

export default class Version extends BaseCommand<VersionResult> {
  static override summary = 'Print the version of kdlq and of Node.'
  static override description = 'Plain kdlq --version prints the version only, and is faster.'
  static override examples = [
    {description: 'As JSON, for a bug report.', command: '<%= config.bin %> <%= command.id %> --json'},
  ]
  static override flags = {...documentFlags}

  async run(): Promise<VersionResult> {
    const {flags} = await this.parse(Version)
    const result = {
      version: this.config.version,
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
    }
    if (outputFormat(flags) === 'json') await this.print(envelope(this.commandName, {result}, this.io.stdout.isTTY))
    else await this.print(`kdlq ${result.version} (node ${result.node}, ${result.platform})\n`)
    return result
  }
}
