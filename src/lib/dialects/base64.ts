/**
 * Bytes of a base64 text; null when it is not exactly that (Node's own decoder skips what it does not know). Padding may
 * be left out.
 */
export function decodeBase64(text: string): Buffer | null {
  const bare = text.replace(/={1,2}$/, '')
  if (!/^[A-Za-z0-9+/]*$/.test(bare) || bare.length % 4 === 1) return null
  if (text.length !== bare.length && text.length % 4 !== 0) return null
  return Buffer.from(bare, 'base64')
}
