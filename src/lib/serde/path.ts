const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/
const LONGEST_NAME = 80

/** Names and indexes of a place in a value, as people write it: `order.items[2].price`, `["odd name"]`. */
export function formatPath(segments: readonly (string | number)[]): string {
  let text = ''
  for (const segment of segments) {
    if (typeof segment === 'number') text += `[${segment}]`
    else if (!PLAIN_NAME.test(segment)) text += `[${JSON.stringify(segment.slice(0, LONGEST_NAME))}]`
    else text += text === '' ? segment : `.${segment}`
  }
  return text
}
