import {Readable} from 'node:stream'
import {gzipSync} from 'node:zlib'
import {expect, test} from 'vitest'
import {openArchiveStream} from '../../../../src/lib/kafka/archive/archive-file.ts'

/** Zeros without an end, as a device gives them. */
async function* zeros(taken: {bytes: number}): AsyncGenerator<Buffer> {
  for (;;) {
    taken.bytes += 65_536
    yield await Promise.resolve(Buffer.alloc(65_536))
  }
}

test('a stream without line ends is given up at the longest line, not when the disk is full', async () => {
  const taken = {bytes: 0}
  await expect(openArchiveStream(Readable.from(zeros(taken)), 'zero', undefined, 1_000_000)).rejects.toMatchObject({
    code: 'E_ARCHIVE_LINE',
    exitCode: 1,
    message: 'zero holds a line of more than 1000000 bytes',
  })
  expect(taken.bytes).toBeLessThan(3_000_000)
})

test('a bomb of one line is given up as well, and lines below the limit are not', async () => {
  const bomb = gzipSync(Buffer.alloc(5_000_000))
  await expect(openArchiveStream(Readable.from([bomb]), 'bomb', undefined, 1_000_000)).rejects.toMatchObject({
    code: 'E_ARCHIVE_LINE',
  })
  const lines = gzipSync(Buffer.from(`${'x'.repeat(900_000)}\n`.repeat(5)))
  const file = await openArchiveStream(Readable.from([lines]), 'lines', undefined, 1_000_000)
  expect(file.size).toBe(5 * 900_001)
  await file.close()
})
