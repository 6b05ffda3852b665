import {describe, expect, test} from 'vitest'
import {createSaslOptions} from '../../../../src/lib/kafka/client/sasl.ts'
import {Secret, type TokenSource} from '../../../../src/lib/kafka/client/security.ts'

type Step = Buffer

async function authenticate(token: TokenSource, answers: readonly string[], file = Buffer.alloc(0)): Promise<Step[]> {
  const steps: Step[] = []
  const options = createSaslOptions({mechanism: 'OAUTHBEARER', token}, async path => {
    if (path === 'missing') throw new Error('ENOENT')
    return file
  })
  await options
    .authenticationProvider?.({
      host: 'h',
      port: 1,
      async saslAuthenticate({request, response}) {
        steps.push(await request.encode())
        const body = Buffer.from(answers[steps.length - 1] ?? '')
        return response.parse(await response.decode(Buffer.concat([Buffer.alloc(4), body])))
      },
    })
    .authenticate()
  return steps
}

describe('OAUTHBEARER', () => {
  test('sends the token as RFC 7628 says and takes an empty answer for a welcome', async () => {
    const [first, ...rest] = await authenticate({kind: 'text', token: new Secret('abc')}, [''])
    expect(first?.subarray(4).toString('latin1')).toBe('n,,\u0001auth=Bearer abc\u0001\u0001')
    expect(first?.readInt32BE(0)).toBe((first?.length ?? 0) - 4)
    expect(rest).toEqual([])
  })

  test('a refusal is told as the broker wrote it, without the token', async () => {
    const work = authenticate({kind: 'text', token: new Secret('abc-secret')}, ['{"status":\n"invalid_token"}'])
    await expect(work).rejects.toMatchObject({
      kind: 'auth',
      exitCode: 4,
      message: 'h:1 refused the OAUTHBEARER token: {"status": "invalid_token"}',
    })
  })

  test('reads the token file anew for each sign-in', async () => {
    const [first] = await authenticate({kind: 'file', path: 'token'}, [''], Buffer.from('from-file\n'))
    expect(first?.toString('latin1')).toContain('auth=Bearer from-file\u0001')
  })

  test.each([
    ['missing', '', 'token file missing cannot be read'],
    ['token', '', 'token file token does not hold one token on one line'],
    ['token', 'two words', 'token file token does not hold one token on one line'],
    ['token', 'a\u0001b', 'token file token does not hold one token on one line'],
  ])('token file %s with %j is a configuration error', async (path, text, message) => {
    await expect(authenticate({kind: 'file', path}, [''], Buffer.from(text))).rejects.toMatchObject({
      kind: 'config',
      message,
    })
  })
})

test('each broker gets an option object of its own, with the password in it', () => {
  const config = {mechanism: 'PLAIN', username: 'u', password: new Secret('p')} as const
  const read = async (): Promise<Buffer> => Buffer.alloc(0)
  expect(createSaslOptions(config, read)).toEqual({mechanism: 'PLAIN', username: 'u', password: 'p'})
  expect(createSaslOptions(config, read)).not.toBe(createSaslOptions(config, read))
})
