import type {DeadLetter} from '../../src/lib/dead-letter/model.ts'
import {type DecodedJson, decodedToJson} from '../../src/lib/render/decoded-json.ts'
import {createDecoders, createRegistryStore, parseDecodeFormats} from '../../src/lib/serde/index.ts'

/** Decodes without a registry, as commands do when none is named. */
export async function plainDecoder(
  ...formats: string[]
): Promise<(deadLetter: Pick<DeadLetter, 'record'>) => DecodedJson> {
  const store = createRegistryStore(null, {clock: {monotonic: () => 0}})
  const readFile = async (path: string): Promise<string> => Promise.reject(new Error(`no file ${path}`))
  const decoders = await createDecoders({store, readFile}, parseDecodeFormats(formats))
  return ({record}) => decodedToJson(decoders.decode(record), record.headers)
}
