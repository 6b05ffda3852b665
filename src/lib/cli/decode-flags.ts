import * as Flags from '@oclif/core/flags'
import {DECODE_FORMATS, isDecodeWord} from '../serde/index.ts'

/** How keys and values are read. */
export const decodeFlags = {
  decode: Flags.string({
    helpGroup: 'output',
    helpValue: 'FORMAT',
    multiple: true,
    multipleNonGreedy: true,
    summary: `[key=|value=]FORMAT: ${DECODE_FORMATS.join(', ')}; alone it means auto.`,
  }),
}

/** Values of `decodeFlags`. */
export interface DecodeFlags {
  readonly decode?: readonly string[] | undefined
}

/** `--decode` alone means `auto`: what follows it is its value only if it is a format. */
export function withBareDecode(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  return argv.flatMap((word, index) => {
    if (word !== '--decode' || (end !== -1 && index > end)) return [word]
    const next = argv[index + 1]
    return next !== undefined && isDecodeWord(next) ? [word] : [`${word}=auto`]
  })
}
