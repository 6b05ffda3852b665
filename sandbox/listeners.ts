type SaslMechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'

/** One more way into the brokers, beside the plain listener. */
export interface ExtraListener {
  readonly protocol: 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
  readonly mechanisms?: readonly SaslMechanism[]
  /** Password by user name, for every mechanism of this listener. For SCRAM without quotes, backslashes and brackets. */
  readonly users?: Readonly<Record<string, string>>
  readonly tls?: ListenerTls
}

interface ListenerTls {
  /** PKCS12 file with the broker's key and certificate chain. */
  readonly keystore: string
  readonly password: string
  /** PEM file with the authority whose clients are let in; asks every client for a certificate. */
  readonly clientCa?: string
}

const SCRAM_MODULE = 'org.apache.kafka.common.security.scram.ScramLoginModule'
const PLAIN_MODULE = 'org.apache.kafka.common.security.plain.PlainLoginModule'

/** Broker properties of all listeners: security protocols, stores and SASL. */
export function listenerProperties(listeners: Readonly<Record<string, ExtraListener>> = {}): Record<string, string> {
  const entries = Object.entries(listeners)
  const map = [
    'CONTROLLER:PLAINTEXT',
    'PLAINTEXT:PLAINTEXT',
    ...entries.map(([name, {protocol}]) => `${name}:${protocol}`),
  ]
  const mechanisms = new Set(entries.flatMap(([, listener]) => listener.mechanisms ?? []))
  return Object.assign(
    {'listener.security.protocol.map': map.join(',')},
    mechanisms.size === 0 ? {} : {'sasl.enabled.mechanisms': [...mechanisms].join(',')},
    ...entries.map(([name, listener]) => oneListener(`listener.name.${name.toLowerCase()}.`, listener)),
  ) as Record<string, string>
}

function oneListener(prefix: string, listener: ExtraListener): Record<string, string> {
  const result: Record<string, string> = {}
  if (listener.mechanisms !== undefined) result[`${prefix}sasl.enabled.mechanisms`] = listener.mechanisms.join(',')
  for (const mechanism of listener.mechanisms ?? []) {
    result[`${prefix}${mechanism.toLowerCase()}.sasl.jaas.config`] = jaas(mechanism, listener.users ?? {})
  }
  if (listener.tls !== undefined) {
    result[`${prefix}ssl.keystore.type`] = 'PKCS12'
    result[`${prefix}ssl.keystore.location`] = listener.tls.keystore
    result[`${prefix}ssl.keystore.password`] = listener.tls.password
    result[`${prefix}ssl.key.password`] = listener.tls.password
    if (listener.tls.clientCa !== undefined) {
      result[`${prefix}ssl.client.auth`] = 'required'
      result[`${prefix}ssl.truststore.type`] = 'PEM'
      result[`${prefix}ssl.truststore.location`] = listener.tls.clientCa
    }
  }
  return result
}

/** SCRAM users live in the cluster's metadata (`scramArguments`), PLAIN users in the listener's own configuration. */
function jaas(mechanism: SaslMechanism, users: Readonly<Record<string, string>>): string {
  if (mechanism !== 'PLAIN') return `${SCRAM_MODULE} required;`
  const options = Object.entries(users).map(([name, password]) => ` user_${name}="${quoted(password)}"`)
  return `${PLAIN_MODULE} required${options.join('')};`
}

function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
}

/** Arguments of the storage tool that put the SCRAM users of all listeners into a new cluster. */
export function scramArguments(listeners: Readonly<Record<string, ExtraListener>> = {}): string[] {
  const result: string[] = []
  for (const listener of Object.values(listeners)) {
    for (const mechanism of listener.mechanisms ?? []) {
      if (mechanism === 'PLAIN') continue
      for (const [name, password] of Object.entries(listener.users ?? {})) {
        result.push('--add-scram', `${mechanism}=[name="${name}",password="${plain(password)}"]`)
      }
    }
  }
  return result
}

/** The storage tool's notation for users knows no escapes. */
function plain(text: string): string {
  if (/["\\[\]]/.test(text)) throw new Error('the storage tool takes no quotes, backslashes or brackets in a password')
  return text
}
