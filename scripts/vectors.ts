/** `npm run vectors -- KIND FILE...`: runs vector files over the code, prints every difference and the totals. */
import {readFile} from 'node:fs/promises'
import {gunzipSync, zstdDecompressSync} from 'node:zlib'
import {parseVectors, runVector, vectorDifferences} from '../test/support/dialect-vectors.ts'
import {connectDifferences, parseConnectVector} from './vectors/connect.ts'

/** One vector: what to call it, and its differences from the code. */
interface Checked {
  readonly name: string
  readonly differences: readonly string[]
}

type Check = (text: string) => AsyncIterable<Checked> | Iterable<Checked>

const KINDS: Readonly<Record<string, Check>> = {dialects: checkDialects, connect: checkConnect}

const [kind, ...files] = process.argv.slice(2)
const check = KINDS[kind ?? '']
if (check === undefined || files.length === 0) {
  for (const name of Object.keys(KINDS)) console.error(`usage: npm run vectors -- ${name} FILE...`)
  process.exitCode = 2
} else {
  let passed = 0
  let failed = 0
  for (const file of files) {
    for await (const {name, differences} of checkFile(file, check)) {
      if (differences.length === 0) {
        passed++
        continue
      }
      failed++
      console.log(name)
      for (const difference of differences) console.log(`  ${difference}`)
    }
  }
  console.log(`${passed} passed, ${failed} failed`)
  if (failed > 0 || passed === 0) process.exitCode = 1
}

/** A file that cannot be read has failed; the others still run. */
async function* checkFile(file: string, checkText: Check): AsyncGenerator<Checked> {
  let text: string
  try {
    text = await readText(file)
  } catch (error) {
    yield {name: file, differences: [`unreadable: ${error instanceof Error ? error.message : String(error)}`]}
    return
  }
  yield* checkText(text)
}

/** A file's text without a byte order mark; `.gz` and `.zst` are unpacked. */
async function readText(file: string): Promise<string> {
  const bytes = await readFile(file)
  const unpacked = file.endsWith('.gz') ? gunzipSync(bytes) : file.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes
  return unpacked.toString('utf8').replace(/^\ufeff/, '')
}

/** A vector that throws has failed; the others still run. */
function* checkDialects(text: string): Generator<Checked> {
  for (const vector of parseVectors(text)) {
    const name = `${vector.id}${vector.note === undefined ? '' : ` ${vector.note}`}`
    try {
      yield {name, differences: vectorDifferences(vector, runVector(vector))}
    } catch (error) {
      yield {name, differences: [`threw: ${String(error)}`]}
    }
  }
}

/** A line that cannot be read has failed; the others still run. */
async function* checkConnect(text: string): AsyncGenerator<Checked> {
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    let vector
    try {
      vector = parseConnectVector(line)
    } catch (error) {
      yield {name: `line ${index + 1}`, differences: [`unreadable: ${String(error)}`]}
      continue
    }
    const name = `${vector.id}${vector.title === undefined ? '' : ` ${vector.title}`}`
    yield {name, differences: await connectDifferences(vector)}
  }
}
