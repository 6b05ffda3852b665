import {expect, test} from 'vitest'
import {connectAddresses} from '../../../src/lib/cli/connect-urls.ts'
import {UsageError} from '../../../src/lib/errors.ts'

const none = {profileName: null}

function refused(flag: string): UsageError {
  try {
    connectAddresses([flag], none)
  } catch (error) {
    if (error instanceof UsageError) return error
  }
  throw new Error('it was taken')
}

test.each(['ftp://ops:secret@connect', 'http://ops:secret%@connect:8083', 'http://ops:secret@connect:8083'])(
  '%s is wrong use, without the password in the message',
  flag => {
    const error = refused(flag)
    expect(error.message).toMatch(/is no http or https address$|must not hold a password/)
    expect(JSON.stringify([error.message, error.hints, error.context])).not.toContain('secret')
  },
)

test('the flag goes before the profile, whose addresses may hold a password', () => {
  const settings = {...none, connectUrls: ['http://ops:secret@a:8083']}
  expect(connectAddresses(['http://b'], settings).map(({url}) => url.href)).toEqual(['http://b/'])
  expect(connectAddresses(undefined, settings)).toEqual([
    {url: new URL('http://a:8083/'), authorization: `Basic ${Buffer.from('ops:secret').toString('base64')}`},
  ])
  expect(connectAddresses(undefined, none)).toEqual([])
})

test('an address of the profile that is none is an error that does not show it', () => {
  expect(() => connectAddresses(undefined, {...none, connectUrls: 'ftp://ops:secret@a'})).toThrow(
    /^connectUrls has to hold http or https addresses$/,
  )
})
