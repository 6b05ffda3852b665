const MAX_BYTES = 1 << 20
const MAX_TEXTS = 500
const MAX_CHARS = 4096

/**
 * Strings and numbers inside JSON payloads, for telling the record's own words from those of an error message. Empty for
 * anything that is not JSON or larger than 1 MiB; at most 500 texts.
 */
export function payloadTexts(...payloads: readonly (Buffer | null)[]): Set<string> {
  const texts = new Set<string>()
  for (const payload of payloads) {
    if (payload !== null && looksLikeJson(payload)) collect(payload, texts)
  }
  return texts
}

function looksLikeJson(payload: Buffer): boolean {
  const first = payload[0]
  return payload.length <= MAX_BYTES && (first === 0x7b || first === 0x5b || first === 0x22)
}

function collect(payload: Buffer, texts: Set<string>): void {
  let document: unknown
  try {
    document = JSON.parse(payload.toString('utf8'))
  } catch {
    return
  }
  const open: unknown[] = [document]
  while (open.length > 0 && texts.size < MAX_TEXTS) {
    const value = open.pop()
    if (typeof value === 'string' && value !== '' && value.length <= MAX_CHARS) texts.add(value)
    else if (typeof value === 'number') texts.add(String(value))
    else if (typeof value === 'object' && value !== null) {
      for (const member of Object.values(value)) open.push(member)
    }
  }
}
