/** Columns that text takes on a terminal. Measured on sanitised text, before colour. */

const WIDE =
  /[\u1100-\u115F\u231A\u231B\u2329\u232A\u23E9-\u23EC\u23F0\u23F3\u25FD\u25FE\u2614\u2615\u2648-\u2653\u267F\u2693\u26A1\u26AA\u26AB\u26BD\u26BE\u26C4\u26C5\u26CE\u26D4\u26EA\u26F2\u26F3\u26F5\u26FA\u26FD\u2705\u270A\u270B\u2728\u274C\u274E\u2753-\u2755\u2757\u2795-\u2797\u27B0\u27BF\u2B1B\u2B1C\u2B50\u2B55\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4C6\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6B\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18CFF}\u{1AFF0}-\u{1B2FF}\u{1F004}\u{1F0CF}\u{1F18E}\u{1F191}-\u{1F19A}\u{1F200}-\u{1F320}\u{1F32D}-\u{1F335}\u{1F337}-\u{1F37C}\u{1F37E}-\u{1F393}\u{1F3A0}-\u{1F3CA}\u{1F3CF}-\u{1F3D3}\u{1F3E0}-\u{1F3F0}\u{1F3F4}\u{1F3F8}-\u{1F43E}\u{1F440}\u{1F442}-\u{1F4FC}\u{1F4FF}-\u{1F53D}\u{1F54B}-\u{1F54E}\u{1F550}-\u{1F567}\u{1F57A}\u{1F595}\u{1F596}\u{1F5A4}\u{1F5FB}-\u{1F64F}\u{1F680}-\u{1F6C5}\u{1F6CC}\u{1F6D0}-\u{1F6D2}\u{1F6D5}-\u{1F6D7}\u{1F6DC}-\u{1F6DF}\u{1F6EB}\u{1F6EC}\u{1F6F4}-\u{1F6FC}\u{1F7E0}-\u{1F7EB}\u{1F7F0}\u{1F90C}-\u{1F93A}\u{1F93C}-\u{1F945}\u{1F947}-\u{1F9FF}\u{1FA70}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u
const ASCII = /^[\x20-\x7e]*$/
const MARK = /^\p{M}+$/u

/** Columns of one line of sanitised text. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const cluster of clusters(text)) width += clusterWidth(cluster)
  return width
}

/**
 * The text itself when it takes at most `width` columns, else its start with a marker behind.
 * @param width at least 1
 */
export function cutToWidth(text: string, width: number, marker = '…'): string {
  // One column is at least one UTF-16 unit, two columns at least one: this bounds the work on a huge text.
  const bounded = text.length > width * 8 + 64 ? text.slice(0, width * 8 + 64) : text
  const whole = bounded.length === text.length
  if (whole && displayWidth(text) <= width) return text
  const room = Math.max(0, width - displayWidth(marker))
  let taken = ''
  let used = 0
  for (const cluster of clusters(bounded)) {
    const columns = clusterWidth(cluster)
    if (used + columns > room) break
    taken += cluster
    used += columns
  }
  return used + displayWidth(marker) > width ? taken : taken + marker
}

function* clusters(text: string): Generator<string> {
  for (const {segment} of new Intl.Segmenter('en', {granularity: 'grapheme'}).segment(text)) yield segment
}

function clusterWidth(cluster: string): number {
  if (MARK.test(cluster)) return 0
  return WIDE.test(cluster) ? 2 : 1
}
