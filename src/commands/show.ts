import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {documentOutput} from '../lib/cli/document-output.ts'
import {connectionFlags, filterFlags, selectionFlags, sourceArgs} from '../lib/cli/flags.ts'
import {readRateOf} from '../lib/cli/connection.ts'
import {asList, headerMappingsOf} from '../lib/cli/config/settings.ts'
import {lookAtOrigin} from '../lib/cli/origin.ts'
import {LookCommand, lookFlags} from '../lib/cli/look-command.ts'
import type {Request} from '../lib/cli/select.ts'
import type {DeadLetter, Handled} from '../lib/dead-letter/model.ts'
import {PartialFailureError, UsageError} from '../lib/errors.ts'
import {compileRedaction} from '../lib/dead-letter/redact.ts'
import {findSameKey, SAME_KEY_BUDGET, type SameKey} from '../lib/dead-letter/same-key.ts'
import {withHeaderMappings} from '../lib/dialects/families/custom.ts'
import {DIALECTS} from '../lib/dialects/registry.ts'
import {failureTimeline, type FailureHop} from '../lib/dialects/timeline.ts'
import type {Cluster} from '../lib/kafka/ports.ts'
import {formatAddress, type KafkaRecord} from '../lib/kafka/record.ts'
import {type DeadLetterJson, deadLetterToJson} from '../lib/render/dead-letter-json.ts'
import type {DecodedJson} from '../lib/render/decoded-json.ts'
import {envelope, jsonText} from '../lib/render/json.ts'
import type {OriginComparison} from '../lib/render/origin-lines.ts'
import {renderDetail} from '../lib/render/record-detail.ts'
import {sanitizeBlock} from '../lib/render/sanitize.ts'
import {formatSource, parseSource} from '../lib/select/source.ts'

/** Always a list, also for one address. */
export interface ShowResult {
  readonly records: readonly (DeadLetterJson & {
    readonly originRecord?: OriginComparison
    /** All entries of the ledger, one a run, oldest first; absent when no ledger was read. */
    readonly history?: readonly Handled[]
    /** All failures of a record that failed several times, oldest first. */
    readonly timeline?: readonly FailureHop[]
    /** With --same-key; null = the key is null. */
    readonly sameKey?: SameKey | null
  })[]
}

interface Shown {
  readonly deadLetter: DeadLetter
  readonly decoded: DecodedJson
  readonly origin: OriginComparison | null
  /** Null when no ledger was read. */
  readonly history: readonly Handled[] | null
  /** Undefined = not looked for; null = the key is null. */
  readonly sameKey: SameKey | null | undefined
}

export default class Show extends LookCommand<ShowResult> {
  static override summary = 'Show one dead letter in full.'
  static override description = `Prints the failure, the stack trace with its root cause first, all headers in order, key and value. Give addresses (topic:partition:offset), or a source and filters: then the newest match is shown.

--raw prints nothing but the bytes of the value. --origin reads the record at the origin, if it still exists, and says whether key and value are the same. --same-key looks for other records with its key: in the dead letter topic, and behind the origin in the origin's partition, where they have overtaken it; at most 2,000,000 records, 1 GiB or 30 s in each place. --ledger shows what was done to it, run by run.

Exit codes: 0 done; 3 there is no record at an address; 6 there is no such ledger; 2, 4, 5 wrong use, not allowed, not reachable.`
  static override examples = [
    {
      description: 'One dead letter.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq:0:42 --bootstrap-server localhost:9092',
    },
    {
      description: 'The newest one of a stage, from an archive.',
      command: '<%= config.bin %> <%= command.id %> example:orders-dlq --stage TASK_PUT',
    },
    {
      description: 'Only the bytes of its value.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq:0:42 --archive example:orders-dlq --raw',
    },
  ]
  static override args = {...sourceArgs}
  static override flags = {
    ...selectionFlags,
    ...filterFlags,
    ...lookFlags,
    ...connectionFlags,
    ...documentOutput(['table', 'json', 'jsonl']),
    archive: Flags.string({
      helpGroup: 'selection',
      helpValue: 'FILE',
      summary: 'Archive (path or example:NAME) in which the addresses lie.',
    }),
    raw: Flags.boolean({
      helpGroup: 'output',
      exclusive: ['hex', 'output', 'json'],
      summary: 'Only the bytes of the value, as they are.',
    }),
    hex: Flags.boolean({helpGroup: 'output', summary: 'Key and value as a hex dump.'}),
    'full-stack': Flags.boolean({
      helpGroup: 'output',
      summary: 'The stack trace and header values as they are, nothing folded or cut.',
    }),
    'same-key': Flags.boolean({
      helpGroup: 'output',
      summary: 'Look for other records with the same key.',
      exclusive: ['raw'],
    }),
    origin: Flags.boolean({helpGroup: 'output', summary: 'Compare with the record at the origin.', exclusive: ['raw']}),
  }

  async run(): Promise<ShowResult> {
    const {args, flags} = await this.parse(Show)
    const format = outputFormat(flags)
    const request = this.inArchive(await this.newestOnly(args.source, flags), flags.archive)
    if (await this.printedExamples(request)) return {records: []}
    const payloads = await this.payloads(flags)
    await using cluster = await this.open(request, flags)
    const shown: Shown[] = []
    const settings = await this.settings(flags.profile)
    const dialects = withHeaderMappings(headerMappingsOf(settings), DIALECTS)
    const redaction = compileRedaction(asList(settings.redact))
    const looking = {signal: this.signal, dialects, shown: (record: KafkaRecord) => redaction?.record(record) ?? record}
    const {scan, ledger} = await this.look(cluster, await this.freeze(cluster, request), flags, {payloads})
    for await (const deadLetter of scan) {
      const real = deadLetter.unredacted ?? deadLetter
      shown.push({
        deadLetter,
        decoded: payloads.toJson(deadLetter),
        origin: flags.origin ? await lookAtOrigin(cluster, real, looking) : null,
        history: ledger?.history(real.record) ?? null,
        sameKey: flags['same-key'] ? await this.sameKey(cluster, real, flags) : undefined,
      })
    }
    const found = new Set(shown.map(({deadLetter}) => deadLetter.address))
    const missing = request.selection.sources.flatMap(source =>
      source.kind === 'address' && !found.has(formatAddress(source.address)) ? [formatAddress(source.address)] : [],
    )
    const result = {records: shown.map(toJson)}
    if (format === 'json')
      await this.print(
        envelope(
          this.commandName,
          {result, warnings: this.documentWarnings(scan.scanned()), ...this.failureOf(missing)},
          this.io.stdout.isTTY,
        ),
      )
    else if (format === 'jsonl')
      for (const record of result.records) await this.print(`${jsonText(record, this.io.stdout.isTTY)}\n`)
    else if (flags.raw) await this.printRaw(shown)
    else await this.printDetails(shown, flags, request)
    await this.checkScan(scan.scanned())
    if (missing.length > 0) throw this.notFound(missing)
    if (shown.length === 0) await this.say('nothing matches')
    return result
  }

  /** Without an address in it, a source means its newest match. */
  private async newestOnly(
    sources: readonly string[],
    flags: Parameters<LookCommand<ShowResult>['request']>[1],
  ): Promise<Request> {
    const request = await this.request(sources, flags)
    const {selection} = request
    const isNamed = selection.sources.every(({kind}) => kind === 'address')
    // --limit 0 is a wish too: all of them.
    if (isNamed || flags.limit !== undefined || selection.tail !== null) return request
    return {...request, selection: {...selection, tail: 1}}
  }

  private inArchive(request: Request, archive: string | undefined): Request {
    if (archive === undefined) return request
    const source = parseSource(
      archive.includes('/') || archive.includes(':') || archive === '-' ? archive : `./${archive}`,
      {exists: () => true},
    )
    if (source.kind !== 'archive' && source.kind !== 'example' && source.kind !== 'stdin') {
      throw new UsageError(`--archive does not take '${archive}'`, {hints: ['give a path, example:NAME or -']})
    }
    if (request.archives.length > 0) throw new UsageError('with --archive, give addresses or topics of that archive')
    return {...request, archives: [source]}
  }

  private async sameKey(
    cluster: Cluster,
    deadLetter: DeadLetter,
    flags: Parameters<LookCommand<ShowResult>['request']>[1],
  ): Promise<SameKey | null> {
    const readRate = readRateOf(flags, await this.settings(flags.profile))
    const deps = {cluster, clock: this.clock}
    return findSameKey(deps, deadLetter, SAME_KEY_BUDGET, {signal: this.signal, readRate})
  }

  private async printRaw(shown: readonly Shown[]): Promise<void> {
    const [only] = shown
    if (shown.length > 1) throw new UsageError(`--raw needs one record, these are ${shown.length}`)
    const value = only?.deadLetter.record.value ?? null
    if (only?.deadLetter.unredacted !== undefined && value !== only.deadLetter.unredacted.record.value) {
      throw new UsageError('--raw would print a value that the configuration redacts', {
        hints: ['kdlq export writes the record as it is; redact in the configuration says what is hidden'],
      })
    }
    if (only !== undefined && value === null) await this.warnUser('the value is null (a tombstone): nothing is printed')
    if (value !== null) await this.print(this.io.stdout.isTTY ? `${sanitizeBlock(value.toString('utf8'))}\n` : value)
  }

  private async printDetails(
    shown: readonly Shown[],
    flags: {readonly 'full-stack': boolean; readonly hex: boolean},
    request: Request,
  ): Promise<void> {
    const context = this.renderContext()
    for (const [index, {deadLetter, decoded, origin, history, sameKey}] of shown.entries()) {
      if (index > 0) await this.print('\n')
      await this.printAll(
        renderDetail(
          deadLetter,
          {fullStack: flags['full-stack'], hex: flags.hex, decoded, origin, history, sameKey},
          context,
        ),
      )
    }
    const [first] = shown
    if (first !== undefined) await this.suggestReplay(first.deadLetter, request)
  }

  /** An address means a cluster to `replay`: from an archive, its failure is named instead. */
  private async suggestReplay({address, fingerprint}: DeadLetter, {archives}: Request): Promise<void> {
    const [source] = archives
    if (source === undefined) await this.suggestNext(`kdlq replay ${address} --dry-run`)
    else if (source.kind !== 'stdin' && fingerprint !== null)
      await this.suggestNext(
        `kdlq replay ${formatSource(source)} --fingerprint ${fingerprint} --to-archive replayed --dry-run`,
      )
  }

  private failureOf(missing: readonly string[]): {readonly error?: unknown} {
    return missing.length === 0 ? {} : {error: this.tellInDocument(this.notFound(missing))}
  }

  private notFound(missing: readonly string[]): PartialFailureError {
    return new PartialFailureError(`no such record: ${missing.join(', ')}`, {
      code: 'E_RECORD_NOT_FOUND',
      hints: [
        'it may have been deleted by retention, be left out by a filter or --handled, or be part of an aborted transaction (--isolation-level read_uncommitted)',
      ],
      context: {addresses: missing},
    })
  }
}

function toJson({deadLetter, decoded, origin, history, sameKey}: Shown): ShowResult['records'][number] {
  const {hops: timeline} = failureTimeline(deadLetter.record, deadLetter.dialects)
  return {
    ...deadLetterToJson(deadLetter, decoded),
    ...(origin === null ? {} : {originRecord: origin}),
    ...(timeline.length < 2 ? {} : {timeline}),
    ...(history === null ? {} : {history}),
    ...(sameKey === undefined ? {} : {sameKey}),
  }
}
