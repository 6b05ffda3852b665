/** `*` (any text, also none) and `?` (one character) against a whole text; everything else stands for itself. */
export interface Glob {
  matches(text: string): boolean
  /** Longest piece of literal text in it: whatever matches contains it. Empty when there is none. */
  readonly longestLiteral: string
}

/** True when the text is meant as a pattern. */
export function isGlob(text: string): boolean {
  return /[*?]/.test(text)
}

/** Never slower than text length times pattern length, however many stars: the leftmost place of a piece is final. */
export function createGlob(pattern: string): Glob {
  const pieces = pattern.split('*')
  const longestLiteral = pattern.split(/[*?]+/).reduce((best, piece) => (piece.length > best.length ? piece : best), '')
  return {longestLiteral, matches: text => matchesPieces(text, pieces)}
}

function matchesPieces(text: string, pieces: readonly string[]): boolean {
  const first = pieces[0] ?? ''
  const last = pieces.at(-1) ?? ''
  if (pieces.length === 1) return text.length === first.length && matchesAt(text, 0, first)
  if (text.length < first.length + last.length) return false
  if (!matchesAt(text, 0, first) || !matchesAt(text, text.length - last.length, last)) return false
  // The leftmost place for each piece leaves the most room for those behind it.
  const end = text.length - last.length
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    at = findPiece(text, at, end, piece)
    if (at < 0) return false
    at += piece.length
  }
  return true
}

function findPiece(text: string, from: number, end: number, piece: string): number {
  for (let at = from; at + piece.length <= end; at++) if (matchesAt(text, at, piece)) return at
  return -1
}

function matchesAt(text: string, at: number, piece: string): boolean {
  for (let index = 0; index < piece.length; index++) {
    const wanted = piece[index]
    if (wanted !== '?' && wanted !== text[at + index]) return false
  }
  return true
}
