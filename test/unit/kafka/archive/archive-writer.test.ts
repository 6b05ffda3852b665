import {readdirSync, readFileSync} from 'node:fs'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'

import {describe, expect, test} from 'vitest'

import {createArchiveWriter, type ArchiveWriterOptions} from '../../../../src/lib/kafka/archive/index.ts'
import type {KafkaRecord} from '../../../../src/lib/kafka/record.ts'
import {everything, kafkaRecord, opened, readRecords, temporaryDirectory, toLines} from './archives.ts'

const records: readonly KafkaRecord[] = Array.from({length: 3000}, (_, index) =>
  kafkaRecord({
    topic: index % 3 === 0 ? 'a' : 'b',
    offset: BigInt(index),
    value: Buffer.from(`value ${index} `.repeat(10)),
  }),
)
const sorted = [...records].sort((a, b) => a.topic.localeCompare(b.topic))

async function write(options: Partial<ArchiveWriterOptions> & {path: string}, list = records): Promise<unknown> {
  await using writer = await createArchiveWriter({layout: 'file', compress: 'none', overwrite: false, ...options})
  for (const record of list) await writer.write(record)
  return await writer.commit()
}

describe('createArchiveWriter', () => {
  test.each([
    ['none', 'out.ndjson'],
    ['gzip', 'out.ndjson.gz'],
    ['zstd', 'out.ndjson.zst'],
  ] as const)('writes one file (%s) that reads back the same', async (compress, name) => {
    const directory = await temporaryDirectory()
    const path = join(directory, name)
    const files = await write({path, compress})
    expect(files).toEqual([{path, records: records.length, bytes: readFileSync(path).length}])
    expect(readdirSync(directory)).toEqual([name])
    const cluster = await opened(path)
    expect(await readRecords(cluster, await everything(cluster))).toEqual(sorted)
  })

  test('writes plain lines as they were formatted', async () => {
    const path = join(await temporaryDirectory(), 'out.ndjson')
    await write({path})
    expect(readFileSync(path, 'utf8')).toBe(toLines(records))
  })

  test.each(['none', 'gzip', 'zstd'] as const)('writes a directory with one file a topic (%s)', async compress => {
    const path = join(await temporaryDirectory(), 'new', 'out')
    await write({path, layout: 'directory', compress})
    const suffix = {none: '', gzip: '.gz', zstd: '.zst'}[compress]
    expect(readdirSync(path).sort()).toEqual([`a.ndjson${suffix}`, `b.ndjson${suffix}`])
    const cluster = await opened(path)
    expect(await readRecords(cluster, await everything(cluster))).toEqual(sorted)
  })

  test('shows nothing under the final name before the commit, and nothing at all after an abort', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'out.ndjson')
    const writer = await createArchiveWriter({path, layout: 'file', compress: 'none', overwrite: false})
    for (const record of records) await writer.write(record)
    expect(readdirSync(directory).filter(name => name.endsWith('.ndjson'))).toEqual([])
    await writer.abort()
    await writer.abort()
    expect(readdirSync(directory)).toEqual([])
  })

  test('refuses to replace a file unless told', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'out.ndjson')
    await writeFile(path, 'precious')
    await expect(write({path})).rejects.toMatchObject({code: 'E_FILE_EXISTS', exitCode: 6})
    await writeFile(join(directory, 'b.ndjson'), 'precious')
    await expect(write({path: directory, layout: 'directory'})).rejects.toMatchObject({code: 'E_FILE_EXISTS'})
    expect(readdirSync(directory).sort()).toEqual(['b.ndjson', 'out.ndjson'])
    expect(readFileSync(path, 'utf8')).toBe('precious')
    await write({path, overwrite: true})
    expect(readFileSync(path, 'utf8')).toBe(toLines(records))
  })

  test('does not replace a file that appeared while it wrote', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'out.ndjson')
    const writer = await createArchiveWriter({path, layout: 'file', compress: 'gzip', overwrite: false})
    await writer.write(kafkaRecord())
    await writeFile(path, 'precious')
    await expect(writer.commit()).rejects.toMatchObject({code: 'E_FILE_EXISTS'})
    expect(readFileSync(path, 'utf8')).toBe('precious')
    expect(readdirSync(directory)).toEqual(['out.ndjson'])
  })

  test('a topic name that leads out of the directory is refused', async () => {
    const directory = join(await temporaryDirectory(), 'out')
    await mkdir(directory)
    const evil = [kafkaRecord({topic: '../evil'})]
    await expect(write({path: directory, layout: 'directory'}, evil)).rejects.toMatchObject({code: 'E_TOPIC_NAME'})
    expect(readdirSync(directory)).toEqual([])
  })

  test('a directory that is not there is an error that names the reason', async () => {
    const path = join(await temporaryDirectory(), 'none', 'out.ndjson')
    await expect(write({path})).rejects.toMatchObject({
      code: 'E_ARCHIVE_WRITE',
      message: 'the archive could not be written (ENOENT)',
    })
  })

  test.runIf(process.platform === 'linux').each(['none', 'gzip', 'zstd'] as const)(
    'a full disk ends the write with an error (%s)',
    async compress => {
      // /dev/full takes nothing; the partial file is linked to it by the handle that the test opens.
      const {PartialFile} = await import('../../../../src/lib/kafka/archive/partial-file.ts')
      const {open} = await import('node:fs/promises')
      const directory = await temporaryDirectory()
      const file = await PartialFile.create(join(directory, 'out.ndjson'), {
        compress,
        overwrite: false,
        openTemporary: async path => {
          await writeFile(path, '')
          return open('/dev/full', 'w')
        },
      })
      const writeAll = async (): Promise<void> => {
        for (const record of records) await file.write(record)
        await file.commit()
      }
      await expect(writeAll()).rejects.toMatchObject({
        code: 'E_ARCHIVE_WRITE',
        exitCode: 1,
        message: 'the archive could not be written (the disk is full)',
      })
      await file.abort()
      expect(readdirSync(directory)).toEqual([])
    },
  )
})
