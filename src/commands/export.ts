import {stat} from 'node:fs/promises'
import * as Flags from '@oclif/core/flags'
import {outputFormat} from '../lib/cli/base-command.ts'
import {documentOutput} from '../lib/cli/document-output.ts'
import {connectionFlags, filterFlags, selectionFlags, sourceArgs} from '../lib/cli/flags.ts'
import {LookCommand, lookFlags} from '../lib/cli/look-command.ts'
import {exportRecords, type ExportResult} from '../lib/dead-letter/export.ts'
import type {PartitionScan} from '../lib/dead-letter/model.ts'
import {UsageError} from '../lib/errors.ts'
import {type ArchiveCompression, createArchiveWriter} from '../lib/kafka/archive/index.ts'
import {envelope} from '../lib/render/json.ts'
import {formatBytes, plural} from '../lib/render/numbers.ts'
import {sanitize} from '../lib/render/sanitize.ts'

export interface ExportCommandResult extends ExportResult {
  readonly scanned: readonly PartitionScan[]
}

export default class Export extends LookCommand<ExportCommandResult> {
  static override summary = 'Save records as a lossless archive.'
  static override description = `Writes one JSON object a line: topic, partition, offset, timestamp, key, value and headers in order, nothing lost. The archive is read by every command in place of a topic, and by import.

--out FILE holds all topics; a directory (one that exists, a name that ends in /, or --split) holds one TOPIC.ndjson a topic. A file that exists is not overwritten. The archive appears whole or not at all.

Exit codes: 0 done, also with nothing found; 3 a partition could not be read to its end; 6 a file exists already or there is no such ledger; 2, 4, 5 wrong use, not allowed, not reachable.`
  static override examples = [
    {
      description: 'A whole dead letter topic.',
      command:
        '<%= config.bin %> <%= command.id %> orders-dlq --out orders-dlq.ndjson --bootstrap-server localhost:9092',
    },
    {
      description: 'Every dead letter topic, compressed, a file each.',
      command: "<%= config.bin %> <%= command.id %> '*-dlq' --out archive/ --split --compress zstd",
    },
    {
      description: 'One kind of failure.',
      command: '<%= config.bin %> <%= command.id %> orders-dlq --stage TASK_PUT --out task-put.ndjson.gz',
    },
  ]
  static override args = {...sourceArgs}
  static override flags = {
    out: Flags.string({
      helpGroup: 'writing',
      helpValue: 'FILE|DIR',
      required: true,
      summary: 'Where the archive goes.',
    }),
    split: Flags.boolean({helpGroup: 'writing', summary: 'A directory with one file a topic.'}),
    compress: Flags.option({
      options: ['gzip', 'zstd'] as const,
      helpGroup: 'writing',
      summary: 'Compress; default by the name of the file: .gz, .zst or none.',
    })(),
    ...selectionFlags,
    ...filterFlags,
    ...lookFlags,
    ...connectionFlags,
    ...documentOutput(['table', 'json']),
  }

  async run(): Promise<ExportCommandResult> {
    const {args, flags} = await this.parse(Export)
    const format = outputFormat(flags)
    const isDirectory = flags.split || flags.out.endsWith('/') || (await isExistingDirectory(flags.out))
    const request = await this.request(args.source, flags)
    await using cluster = await this.open(request, flags)
    const {scan} = await this.look(cluster, await this.freeze(cluster, request), flags, {
      label: 'exporting',
      asIs: true,
    })
    const writer = await createArchiveWriter({
      path: flags.out,
      layout: isDirectory ? 'directory' : 'file',
      compress: compressionOf(flags.out, flags.compress, isDirectory),
      overwrite: false,
    })
    const done = await exportRecords(scan, writer, {signal: this.signal})
    const scanned = scan.scanned()
    const result = {...done, scanned}
    if (format === 'json')
      await this.print(
        envelope(this.commandName, {result, warnings: this.documentWarnings(scanned)}, this.io.stdout.isTTY),
      )
    else
      for (const file of done.files)
        await this.print(`${sanitize(file.path)}  ${plural(file.records, 'record')}  ${formatBytes(file.bytes)}\n`)
    await this.closeScan(scanned, done.records)
    const [first] = done.files
    if (first !== undefined)
      await this.suggestNext(`kdlq stats ${first.path.includes('/') ? first.path : `./${first.path}`}`)
    return result
  }
}

async function isExistingDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}

/** @throws UsageError when the name says another compression than the flag: readers go by the name */
function compressionOf(path: string, asked: 'gzip' | 'zstd' | undefined, isDirectory: boolean): ArchiveCompression {
  if (isDirectory) return asked ?? 'none'
  const named: ArchiveCompression = path.endsWith('.gz') ? 'gzip' : path.endsWith('.zst') ? 'zstd' : 'none'
  if (asked === undefined || asked === named) return named
  if (named === 'none') return asked
  throw new UsageError(`--compress ${asked} and the name ${path} contradict each other`, {
    hints: [`name it ${path.replace(/\.(gz|zst)$/, asked === 'gzip' ? '.gz' : '.zst')}`],
  })
}
