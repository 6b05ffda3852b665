import {JavaException} from '../errors.ts'

type Groups = readonly (string | undefined)[]

/**
 * A replacement text with its `$1`, `${name}` and `\\x` filled in.
 * @throws JavaException (IllegalArgumentException, IndexOutOfBoundsException) with Java's message
 * @see java.util.regex.Matcher.appendReplacement
 */
export function expandReplacement(
  replacement: string,
  groups: Groups,
  groupNames: ReadonlyMap<string, number>,
): string {
  let result = ''
  for (let at = 0; at < replacement.length;) {
    const character = replacement.charAt(at)
    if (character === '\\') {
      if (at + 1 === replacement.length) throw illegal('character to be escaped is missing')
      result += replacement.charAt(at + 1)
      at += 2
    } else if (character === '$') {
      const [group, end] = groupAt(replacement, at + 1, {groups, groupNames})
      result += group
      at = end
    } else {
      result += character
      at += 1
    }
  }
  return result
}

function groupAt(
  replacement: string,
  start: number,
  {groups, groupNames}: {readonly groups: Groups; readonly groupNames: ReadonlyMap<string, number>},
): readonly [text: string, end: number] {
  if (start === replacement.length) throw illegal('Illegal group reference: group index is missing')
  const named = /^\{([^}]*)\}/.exec(replacement.slice(start))
  if (named !== null) {
    const [whole, name = ''] = named
    const number = groupNames.get(name)
    if (number === undefined) throw illegal(`No group with name {${name}}`)
    return [groups[number] ?? '', start + whole.length]
  }
  const first = replacement.charAt(start)
  if (!/^[0-9]$/.test(first)) throw illegal('Illegal group reference')
  let [number, end] = [Number(first), start + 1]
  // As many digits as still name a group.
  while (/^[0-9]$/.test(replacement.charAt(end)) && number * 10 + Number(replacement.charAt(end)) < groups.length) {
    number = number * 10 + Number(replacement.charAt(end))
    end += 1
  }
  if (number >= groups.length) {
    throw new JavaException({className: 'java.lang.IndexOutOfBoundsException', message: `No group ${number}`})
  }
  return [groups[number] ?? '', end]
}

function illegal(message: string): JavaException {
  return new JavaException({className: 'java.lang.IllegalArgumentException', message})
}
