import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {connectionFlags, filterFlags, outputFlags, selectionFlags, sourceArgs} from '../lib/cli/flags.ts'
import {chooseColumns, listDeadLetters} from '../lib/cli/list-dead-letters.ts'
import {LookCommand, lookFlags} from '../lib/cli/look-command.ts'
import type {PartitionScan} from '../lib/dead-letter/model.ts'
import type {DeadLetterJson} from '../lib/render/dead-letter-json.ts'
import {createDeadLetterView} from '../lib/render/dead-letter-view.ts'

export interface InspectResult {
  /** In the order of the output: topic, partition, offset; with --tail by time; with --follow as they arrive. */
  readonly records: readonly DeadLetterJson[]
  readonly scanned: readonly PartitionScan[]
}

/** What `run` returns: the records themselves are streamed. */
export type InspectSummary = Pick<InspectResult, 'scanned'>

export default class Inspect extends LookCommand<InspectSummary> {
  static override summary = 'List dead letters and why each one died.'
  static override description = `Prints one row a dead letter, as it is read. On a plain topic (not a dead letter topic) the records are listed too.

SOURCE is a topic, a quoted pattern such as '*-dlq', an address topic:partition:offset, a path, example:NAME, or - for an archive on stdin. The end is fixed when the command starts; no consumer group is joined.

table and markdown show the first 100 records unless --limit or --tail is given; json, jsonl and csv have no limit. --output jsonl is itself an archive that other commands read.

--handled hide or only reads the ledger first: the one of --ledger, else of the setting ledger, else the topic kdlq-ledger. --ledger alone adds what it knows as the field handled. Nothing is written into it; one that is not there is refused.

Exit codes: 0 done, also with nothing found; 3 a partition could not be read to its end; 6 there is no such ledger; 2, 4, 5 wrong use, not allowed, not reachable.`
  static override examples = [
    {
      description: 'What is in a dead letter topic.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --bootstrap-server localhost:9092',
    },
    {
      description: 'The last hour, one JSON object a line.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --since 1h --output jsonl',
    },
    {
      description: 'Converter failures of one exception, without a cluster.',
      command:
        '<%= config.bin %> <%= command.id %> example:orders-dlq --stage VALUE_CONVERTER --exception DataException',
    },
  ]
  static override args = {...sourceArgs}
  static override flags = {
    ...selectionFlags,
    ...filterFlags,
    ...lookFlags,
    ...connectionFlags,
    ...outputFlags,
    follow: Flags.boolean({
      char: 'f',
      helpGroup: 'selection',
      exclusive: ['tail', 'to', 'until'],
      summary: 'Go on with new records until Ctrl-C.',
    }),
  }

  async run(): Promise<InspectSummary> {
    const {args, flags} = await this.parse(Inspect)
    const payloads = flags.decode === undefined ? null : await this.payloads(flags)
    const view = createDeadLetterView({decode: payloads === null ? null : letter => payloads.toJson(letter)})
    const columns = chooseColumns(view, flags)
    const request = await this.request(args.source, flags)
    if (await this.printedExamples(request)) return {scanned: []}
    await using cluster = await this.open(request, flags)
    const {scan} = await this.look(cluster, await this.freeze(cluster, request), flags, {payloads})
    const {chunks, state} = listDeadLetters(scan, view, {
      command: this.commandName,
      format: outputFormat(flags),
      columns,
      limited: flags.limit !== undefined || flags.tail !== undefined,
      follow: flags.follow,
      context: this.renderContext({fit: !flags.wide && !flags.follow}),
      warnings: () => this.documentWarnings(scan.scanned()),
      onError: error => this.tellInDocument(error),
    })
    await this.printAll(chunks)
    const scanned = scan.scanned()
    await this.closeScan(scanned, state.matched)
    if (state.dropped.length > 0) await this.say(`no room for ${state.dropped.join(', ')}; --wide shows all columns`)
    if (state.hidden > 0) await this.say(`${state.hidden} more; --limit 0 shows all`)
    if (state.first !== null) await this.suggestNext(`kdlq show ${state.first}${this.archiveHint(request)}`)
    return {scanned}
  }
}
