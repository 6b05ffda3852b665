import {readFileSync} from 'node:fs'
import {gunzipSync} from 'node:zlib'
import type {KafkaRecord, TimestampType} from '../../src/lib/kafka/record.ts'

type ArchiveBytes = string | {readonly base64: string} | null

interface ArchiveLine {
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly timestamp: string | null
  readonly timestampType: TimestampType
  readonly key: ArchiveBytes
  readonly value: ArchiveBytes
  readonly headers: readonly (readonly [string | {readonly base64: string}, ArchiveBytes])[]
}

/** Records of an archive file (`.gz` too), read by a parser of the tests' own. */
export function readArchiveLines(file: URL): KafkaRecord[] {
  const bytes = readFileSync(file)
  const text = (file.pathname.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => toRecord(JSON.parse(line) as ArchiveLine))
}

function toRecord(line: ArchiveLine): KafkaRecord {
  return {
    topic: line.topic,
    partition: line.partition,
    offset: BigInt(line.offset),
    timestamp: line.timestamp === null || line.timestamp === '-1' ? null : BigInt(line.timestamp),
    timestampType: line.timestampType,
    key: toBytes(line.key),
    value: toBytes(line.value),
    headers: line.headers.map(([name, value]) => ({name: toBytes(name) ?? Buffer.alloc(0), value: toBytes(value)})),
  }
}

function toBytes(bytes: ArchiveBytes): Buffer | null {
  if (bytes === null) return null
  return typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : Buffer.from(bytes.base64, 'base64')
}
