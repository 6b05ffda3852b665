import * as Flags from '@oclif/core/flags'
import {parseConnectAddress} from '../connect-rest/connectors.ts'
import type {ConnectAddress} from '../connect-rest/connectors.ts'
import {ConfigError, UsageError} from '../errors.ts'
import {withoutUser} from '../http/address.ts'
import {asList, type EffectiveSettings} from './config/settings.ts'
import {environmentName} from './usage-errors.ts'

/** Where Kafka Connect's REST interface is asked. */
export const connectUrlFlag = Flags.string({
  helpGroup: 'connection',
  helpValue: 'URL[,..]',
  multiple: true,
  multipleNonGreedy: true,
  delimiter: ',',
  env: environmentName('connect-url'),
  summary: 'Connect workers to ask, one of each worker group.',
})

/**
 * Addresses of Connect workers: the flag before the profile's `connectUrls`.
 * @throws UsageError for a flag that is no address, or holds a password; ConfigError for a profile's that is none
 */
export function connectAddresses(
  flag: readonly string[] | undefined,
  settings: EffectiveSettings,
): readonly ConnectAddress[] {
  if (flag === undefined) {
    return asList(settings.connectUrls).map(text => {
      const address = parseConnectAddress(text)
      if (address === null) throw new ConfigError('connectUrls has to hold http or https addresses')
      return address
    })
  }
  return flag.map(text => {
    const address = parseConnectAddress(text)
    if (address === null) {
      throw new UsageError(`--connect-url ${JSON.stringify(withoutUser(text))} is no http or https address`, {
        hints: ['for example --connect-url http://localhost:8083'],
      })
    }
    if (address.authorization !== null) {
      throw new UsageError('--connect-url must not hold a password: others can read command lines', {
        hints: ['put it into connectUrls of a profile: kdlq config init'],
      })
    }
    return address
  })
}
