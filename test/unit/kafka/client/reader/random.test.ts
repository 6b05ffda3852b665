import fc from 'fast-check'
import {expect, test} from 'vitest'
import {fetchApi} from '../../../../../src/lib/kafka/protocol/generated/fetch.ts'
import {batchAt, connectionLost, fetchAnswer, FakeLog, markerAt, partitionAnswer, topic} from '../fake-transport.ts'
import {answerFrom, collect, range, readFixture, request} from './support.ts'
import {runs} from '../../../../support/runs.ts'

interface Entry {
  readonly kind: 'data' | 'marker'
  readonly records: number
  /** Offsets that compaction left empty behind this batch's records. */
  readonly gap: number
  readonly valueBytes: number
}

const entries: fc.Arbitrary<readonly Entry[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('data', 'data', 'marker'),
    records: fc.integer({min: 1, max: 4}),
    gap: fc.integer({min: 0, max: 3}),
    valueBytes: fc.integer({min: 1, max: 400}),
  }),
  {maxLength: 12},
)

/** What can happen to a request, by turns. */
const faults = fc.array(fc.constantFrom('ok', 'ok', 'lost', 'empty', 'moved', 'throttled', 'storage', 'no-topics'), {
  maxLength: 25,
})

function fill(of: readonly Entry[]): {log: FakeLog; expected: bigint[]} {
  const log = new FakeLog()
  const expected: bigint[] = []
  let base = 0n
  for (const {kind, records, gap, valueBytes} of of) {
    if (kind === 'marker') {
      log.append(markerAt(base, 'commit'))
      base += 1n
      continue
    }
    const lastDelta = records - 1 + (records > 1 ? gap : 0)
    const values = Array.from({length: records}, () => 'x'.repeat(valueBytes))
    log.append(batchAt({base, lastDelta, values}))
    for (let index = 0; index < records; index++) {
      expected.push(base + BigInt(index === records - 1 ? lastDelta : index))
    }
    base += BigInt(lastDelta) + 1n
  }
  return {log, expected}
}

test('whatever brokers do and however small the limits are, each record comes once, in order, and the read ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entries, {minLength: 1, maxLength: 5}),
      faults,
      fc.record({
        partitionMaxBytes: fc.integer({min: 1, max: 2_000}),
        maxBytes: fc.integer({min: 1, max: 4_000}),
        bufferBytes: fc.integer({min: 1, max: 6_000}),
        requestsPerBroker: fc.integer({min: 1, max: 4}),
        queuedAnswers: fc.integer({min: 1, max: 3}),
        rangesAhead: fc.integer({min: 1, max: 3}),
      }),
      fc.constantFrom('partition' as const, 'arrival' as const),
      fc.option(fc.integer({min: 1_000, max: 100_000}), {nil: undefined}),
      async (partitions, turns, tuning, order, readRate) => {
        const filled = partitions.map(fill)
        const logs = filled.map(({log}) => log)
        const {cluster, transport} = readFixture(logs, {tuning})
        const left = [...turns]
        let epoch = 3
        transport.on(fetchApi, body => {
          switch (left.shift() ?? 'ok') {
            case 'lost':
              throw connectionLost()
            case 'empty':
              return fetchAnswer(body, partition => partitionAnswer({highWatermark: (logs[partition]?.end ?? 0n) - 1n}))
            case 'moved':
              transport.topics = [topic('t', logs.length, {leader: 1 + (epoch % 2), leaderEpoch: ++epoch})]
              return fetchAnswer(body, () => partitionAnswer({errorCode: 6}))
            case 'throttled':
              return {...answerFrom(logs, body), throttleTimeMs: 700}
            case 'storage':
              return fetchAnswer(body, (partition, offset, bytes) =>
                partition % 2 === 0
                  ? partitionAnswer({errorCode: 56})
                  : (logs[partition] ?? new FakeLog()).read(offset, bytes),
              )
            case 'no-topics':
              return fetchAnswer({...body, topics: []}, () => partitionAnswer({}))
            case 'ok':
              break
          }
          return answerFrom(logs, body)
        })
        const ranges = logs.map((log, partition) => range(partition, log.end))
        const {records, notices, blocks} = await collect(cluster.reader.read(request(ranges, {order, readRate})))
        expect(notices).toEqual([])
        for (const [partition, {expected}] of filled.entries()) {
          const own = records.filter(text => text.startsWith(`${partition}:`))
          expect(own.map(text => BigInt(text.slice(2, text.indexOf('='))))).toEqual(expected)
        }
        expect(
          blocks
            .filter(({done}) => done)
            .map(({partition}) => partition)
            .toSorted((a, b) => a - b),
        ).toEqual(logs.map((_, index) => index))
        const seen = blocks.map(({partition}) => partition)
        const ascending = seen.every((partition, index) => partition >= (seen[index - 1] ?? 0))
        expect(order === 'arrival' || ascending).toBe(true)
      },
    ),
    {numRuns: runs(150)},
  )
})
