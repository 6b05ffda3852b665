/** Bytes to values: what other folders use of this one. */
export {createDecoders, type Decoders, type Payloads} from './decoders.ts'
export {isTransient} from './fault.ts'
export {
  AUTO_FORMATS,
  type AskedFormat,
  DECODE_FORMATS,
  formatDecodeFormat,
  isDecodeWord,
  needsRegistry,
  parseAskedFormats,
  parseDecodeFormats,
} from './format.ts'
export {createRegistryStore, type RegistryConfig} from './registry/index.ts'
export {parseRegistryUrls} from './registry/url.ts'
export {springTypes} from './spring.ts'
export type {
  DecodedPart,
  DecodedRecord,
  DecodedValue,
  DecodeProblem,
  DecodeStep,
  Part,
  PayloadFormat,
  SchemaFacts,
} from './types.ts'
