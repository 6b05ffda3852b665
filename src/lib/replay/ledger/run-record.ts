import {hash} from 'node:crypto'
import {KafkaError, UsageError} from '../../errors.ts'
import type {ReplayPlan} from '../plan.ts'
import {validatePlan} from '../plan-validate.ts'
import {runKey} from './names.ts'
import {LEDGER_VERSION} from './types.ts'
import type {LedgerRecord, LedgerRunHead} from './types.ts'

/** Largest piece of a document, bytes; with a key it fits Kafka's default `max.message.bytes`. */
export const PIECE_BYTES = 900_000
/** Largest document that is read back, bytes; as for plan files. */
const MAX_DOCUMENT = 256 * 1024 * 1024

/** All that a run needs to go on elsewhere: its plan, and the text of the files that the plan names by checksum. */
export interface RunDocument {
  readonly plan: ReplayPlan
  /** By name: `transform`, `patch`, ... */
  readonly files: Readonly<Record<string, string>>
}

/** What is told about a run besides its document. */
export type RunFacts = Pick<LedgerRunHead, 'run' | 'by' | 'at' | 'reason' | 'version'>

/**
 * A run as records: the pieces of its document (UTF-8 JSON, cut between characters), then the head. The head is last, so that a
 * reader that sees it has all pieces.
 * @param pieceBytes at least 4
 */
export function runRecords(facts: RunFacts, document: RunDocument, pieceBytes = PIECE_BYTES): readonly LedgerRecord[] {
  const {run, by, at, reason, version} = facts
  const bytes = Buffer.from(JSON.stringify({plan: document.plan, files: document.files}))
  const records: LedgerRecord[] = []
  for (let from = 0, to = 0; from < bytes.length; from = to) {
    to = endOfPiece(bytes, from + pieceBytes)
    records.push({route: run, key: runKey(run, records.length + 1), value: bytes.subarray(from, to)})
  }
  const head = {
    v: LEDGER_VERSION,
    run,
    by,
    at: at.toString(),
    reason,
    version,
    pieces: records.length,
    bytes: bytes.length,
    sha256: hash('sha256', bytes, 'hex'),
  }
  return [...records, {route: run, key: runKey(run, 0), value: JSON.stringify(head)}]
}

/**
 * Put a run's document together again.
 * @param pieces by number, from 1
 * @throws KafkaError `E_LEDGER_RUN_BROKEN` when a piece is missing or the checksum differs; UsageError when the plan is of
 * a version that this kdlq does not read
 */
export function readRunDocument(head: LedgerRunHead, pieces: ReadonlyMap<number, Buffer>): RunDocument {
  if (head.bytes > MAX_DOCUMENT) throw broken(head, 'its document is too large')
  const all: Buffer[] = []
  for (let piece = 1; piece <= head.pieces; piece++) {
    const bytes = pieces.get(piece)
    if (bytes === undefined) throw broken(head, `piece ${piece} of ${head.pieces} is missing`)
    all.push(bytes)
  }
  const bytes = Buffer.concat(all)
  if (bytes.length !== head.bytes || hash('sha256', bytes, 'hex') !== head.sha256) {
    throw broken(head, 'its checksum differs')
  }
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw broken(head, 'it is not JSON')
  }
  if (!isDocument(json)) throw new UsageError(`run ${head.run} holds no plan`, {code: 'E_PLAN_INVALID'})
  const files: [string, string][] = []
  for (const [name, text] of Object.entries(json.files)) if (typeof text === 'string') files.push([name, text])
  return {plan: validatePlan(json.plan), files: Object.fromEntries(files)}
}

/** Never within a character, so that every piece is text. */
function endOfPiece(bytes: Buffer, limit: number): number {
  if (limit >= bytes.length) return bytes.length
  let end = limit
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return end
}

function broken({run, pieces}: LedgerRunHead, why: string): KafkaError {
  return new KafkaError(`the plan of run ${run} cannot be read from the ledger: ${why}`, {
    code: 'E_LEDGER_RUN_BROKEN',
    hints: ['start a new run: what this one did is in the ledger and will be left out as handled'],
    context: {run, pieces},
  })
}

function isDocument(json: unknown): json is {readonly plan: unknown; readonly files: object} {
  if (typeof json !== 'object' || json === null || !('plan' in json) || !('files' in json)) return false
  return typeof json.files === 'object' && json.files !== null
}
