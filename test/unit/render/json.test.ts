import {describe, expect, test} from 'vitest'
import {envelope, jsonText, streamedEnvelope} from '../../../src/lib/render/json.ts'

async function* itemsOf<T>(items: readonly T[], failure?: Error): AsyncGenerator<T> {
  yield* items
  if (failure !== undefined) throw failure
}

const stream = (items: AsyncIterable<number>) =>
  streamedEnvelope(items, {
    command: 'inspect',
    list: 'records',
    toJson: item => ({item}),
    rest: () => ({scanned: [{topic: 'orders-dlq'}]}),
    warnings: () => ['careful'],
    forTerminal: false,
    onError: error => ({message: (error as Error).message}),
  })

async function collect(chunks: AsyncIterable<string>): Promise<{text: string; error: unknown}> {
  let text = ''
  try {
    for await (const chunk of chunks) text += chunk
  } catch (error) {
    return {text, error}
  }
  return {text, error: null}
}

describe('envelope', () => {
  test('has version, command, result and warnings', () => {
    expect(JSON.parse(envelope('stats', {result: {total: 0}}, false))).toEqual({
      schemaVersion: 1,
      command: 'stats',
      result: {total: 0},
      warnings: [],
    })
  })

  test('a refusal carries result and error', () => {
    const document = JSON.parse(envelope('replay', {result: {run: 'r-1'}, error: {code: 'E_REFUSED'}}, false)) as object
    expect(Object.keys(document)).toEqual(['schemaVersion', 'command', 'result', 'warnings', 'error'])
  })

  test('bigint is a decimal string', () => {
    expect(jsonText({offset: 9_007_199_254_740_993n}, false)).toBe('{"offset":"9007199254740993"}')
  })
})

describe('streamedEnvelope', () => {
  test('is one document, an element a line', async () => {
    const {text} = await collect(stream(itemsOf([1, 2])))
    expect(JSON.parse(text)).toEqual({
      schemaVersion: 1,
      command: 'inspect',
      result: {records: [{item: 1}, {item: 2}], scanned: [{topic: 'orders-dlq'}]},
      warnings: ['careful'],
    })
    expect(text.split('\n')).toHaveLength(5)
  })

  test('an empty list is there and empty', async () => {
    const {text} = await collect(stream(itemsOf<number>([])))
    expect((JSON.parse(text) as {result: {records: unknown[]}}).result.records).toEqual([])
  })

  test('an error in the middle still ends in valid JSON and is thrown on', async () => {
    const failure = new Error('broken line 3')
    const {text, error} = await collect(stream(itemsOf([1], failure)))
    expect(error).toBe(failure)
    const document = JSON.parse(text) as {result: {records: unknown[]}; error: unknown}
    expect(document.result.records).toEqual([{item: 1}])
    expect(document.error).toEqual({message: 'broken line 3'})
  })
})
