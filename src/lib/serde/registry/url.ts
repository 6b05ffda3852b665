import {UsageError} from '../../errors.ts'
import {withoutUser} from '../../http/address.ts'

/**
 * `http://a:8081,https://b/path` to addresses without a slash at their end.
 * @param where names the flag or setting in errors
 * @throws UsageError for what is no http or https address, and for one that holds a password, query or fragment
 */
export function parseRegistryUrls(texts: readonly string[], where: string): readonly URL[] {
  const parts = texts
    .flatMap(text => text.split(','))
    .map(part => part.trim())
    .filter(part => part !== '')
  if (parts.length === 0) throw wrong(where, 'is empty')
  return parts.map(part => parseUrl(part, where))
}

function parseUrl(text: string, where: string): URL {
  if (!URL.canParse(text)) throw wrong(where, `'${withoutUser(text)}' is no address`)
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw wrong(where, `'${withoutUser(text)}' is not http or https`)
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(`${where}: a name or password has no place in the address`, {
      hints: ['put it into a profile: schemaRegistry.username and passwordFile, passwordEnv or passwordCommand'],
    })
  }
  if (url.search !== '' || url.hash !== '') throw wrong(where, `'${url.origin}${url.pathname}' is followed by ? or #`)
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url
}

function wrong(where: string, problem: string): UsageError {
  return new UsageError(`${where}: ${problem}`, {
    hints: ['write http://HOST:PORT or https://HOST/PATH, several with commas'],
  })
}
