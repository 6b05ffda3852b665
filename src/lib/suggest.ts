/**
 * The known word that was most likely meant: the nearest by edits (insert, delete, replace), ignoring case.
 * @returns null when none is nearer than a third of the word, at most 4 edits
 */
export function nearest(word: string, known: Iterable<string>): string | null {
  // A hostile or pasted "word" of many kilobytes has no near neighbour; do not compare it.
  if (word.length > 249) return null
  const limit = Math.min(4, Math.max(1, Math.floor(word.length / 3)))
  const wanted = word.toLowerCase()
  let best: string | null = null
  let bestDistance = limit + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({length: right.length + 1}, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const replace = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replace))
    }
    previous = current
  }
  return previous[right.length] ?? 0
}

/** `did you mean 'x'` as a list of hints: one, or none when nothing is near. */
export function didYouMean(word: string, known: Iterable<string>): readonly string[] {
  const found = nearest(word, known)
  return found === null ? [] : [`did you mean '${found}'?`]
}
