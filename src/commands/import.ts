import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {documentOutput} from '../lib/cli/document-output.ts'
import {connectionFlags, writingFlags} from '../lib/cli/flags.ts'
import {RecordCommand} from '../lib/cli/record-command.ts'
import type {Request} from '../lib/cli/select.ts'
import {
  type ImportPlan,
  importRecords,
  type ImportResult,
  type ImportRule,
  planImport,
} from '../lib/dead-letter/import.ts'
import type {Cluster} from '../lib/kafka/ports.ts'
import {envelope} from '../lib/render/json.ts'
import {plural} from '../lib/render/numbers.ts'
import {sanitize} from '../lib/render/sanitize.ts'
import {partitionForKey} from '../lib/replay/murmur2.ts'

export interface ImportCommandResult extends ImportResult {
  readonly plan: ImportPlan
}

export default class Import extends RecordCommand<ImportCommandResult> {
  static override summary = 'Write an archive back into topics.'
  static override description = `Writes the records of an archive with key, value, headers and timestamp as they are: to the topic that each line names, or all to --topic. Partitions are chosen by key as Kafka's Java producer does, or kept with --keep-partition.

A topic that does not exist is refused unless --create is given; it is then created with retention.ms=-1, because dead letters keep old timestamps and would be deleted at once.

Without --yes the plan is printed and a question asked; --dry-run only prints the plan.

Exit codes: 0 done; 3 stopped after some records; 6 refused or declined, nothing written; 2, 4, 5 wrong use, not allowed, not reachable.`
  static override examples = [
    {
      description: 'Show what would be written.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq.ndjson --dry-run --bootstrap-server localhost:9092',
    },
    {
      description: 'Into new topics, partitions as they were.',
      command:
        '<%= config.bin %> <%= command.id %> example:orders-dlq --create --keep-partition --yes --bootstrap-server localhost:9092',
    },
  ]
  static override args = {
    file: Args.string({required: true, ignoreStdin: true, description: 'Archive: path, example:NAME, or - for stdin.'}),
  }
  static override flags = {
    topic: Flags.string({
      helpGroup: 'writing',
      helpValue: 'NAME',
      summary: "Target of all records; default each record's own topic.",
    }),
    'keep-partition': Flags.boolean({
      helpGroup: 'writing',
      summary: "Write to the archive's partition numbers; default by key.",
    }),
    create: Flags.boolean({helpGroup: 'writing', summary: 'Create missing topics, with retention.ms=-1.'}),
    'dry-run': writingFlags['dry-run'],
    yes: writingFlags.yes,
    'skip-bad-lines': Flags.boolean({helpGroup: 'writing', summary: 'Count broken lines and go on (exit 3).'}),
    ...connectionFlags,
    ...documentOutput(['table', 'json']),
  }
  protected override readonly writesToKafka = true

  async run(): Promise<ImportCommandResult> {
    const {args, flags} = await this.parse(Import)
    const format = outputFormat(flags)
    if (!flags['dry-run']) this.assertWritable(await this.settings(flags.profile))
    const request = await this.archiveRequest(args.file, flags)
    await using archive = await this.open(request, flags)
    await using target = await this.connect(flags)
    const rule: ImportRule = {topic: flags.topic ?? null, keepPartition: flags['keep-partition'], partitionForKey}
    const records = async () =>
      this.scan(archive, await this.freeze(archive, request), flags, {label: 'reading', asIs: true})
    const plan = await planImport(await records(), target, rule, {
      create: flags.create,
      nowMs: this.clock.now(),
      signal: this.signal,
    })
    if (format === 'table') await this.printPlan(plan, target)
    for (const warning of plan.warnings) await this.warnUser(warning)
    let result: ImportCommandResult = {plan, imported: 0, targets: []}
    if (!flags['dry-run'] && plan.records > 0) {
      await this.consent(`Write ${plural(plan.records, 'record')} to ${target.description.name}?`, flags.yes)
      result = {plan, ...(await this.write(await records(), target, plan, rule))}
    }
    if (format === 'json')
      await this.print(envelope(this.commandName, {result, warnings: this.documentWarnings([])}, this.io.stdout.isTTY))
    await this.say(flags['dry-run'] ? 'dry run: nothing was written' : `${plural(result.imported, 'record')} written`)
    await this.checkScan([])
    const [first] = result.targets
    if (first !== undefined) await this.suggestNext(`kdlq inspect ${first.topic}`)
    return result
  }

  private async archiveRequest(file: string, flags: {readonly 'skip-bad-lines': boolean}): Promise<Request> {
    // A name alone is a file here: there is nothing else that could be meant.
    const source = file === '-' || file.startsWith('example:') || file.includes('/') ? file : `./${file}`
    return this.request([source], {'skip-bad-lines': flags['skip-bad-lines']})
  }

  private async write(
    records: AsyncIterable<Parameters<typeof importRecords>[0] extends AsyncIterable<infer R> ? R : never>,
    target: Cluster,
    plan: ImportPlan,
    rule: ImportRule,
  ): Promise<ImportResult> {
    await using progress = this.progress()
    let written = 0
    try {
      return await importRecords(records, target, plan, rule, {
        compression: 'lz4',
        clock: this.clock,
        signal: this.signal,
        onProgress: done => {
          written = done
          void progress.update({label: 'writing', done, total: plan.records})
        },
      })
    } catch (error) {
      if (this.signal.aborted && written > 0) {
        await this.say(`${plural(written, 'record')} of ${plan.records} written; importing again writes them twice`)
      }
      throw error
    }
  }

  private async printPlan(plan: ImportPlan, target: Cluster): Promise<void> {
    await this.print(`${plural(plan.records, 'record')} to ${sanitize(target.description.name)}\n`)
    for (const topic of plan.create) {
      const configs = Object.entries(topic.configs).map(([name, value]) => `${name}=${value}`)
      await this.print(
        `  create ${sanitize(topic.name)}: ${plural(topic.partitions, 'partition')}, ${configs.join(', ')}\n`,
      )
    }
    for (const {topic, partition, count} of plan.targets) {
      await this.print(
        `  ${sanitize(topic)}${partition < 0 ? ' (partition by key)' : `:${partition}`}  ${plural(count, 'record')}\n`,
      )
    }
  }
}
