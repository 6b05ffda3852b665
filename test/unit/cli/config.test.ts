import {mkdir, mkdtemp, readFile, rm, stat, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {effectiveSettings, loadConfiguration, projectFilePath, userFilePath} from '../../../src/lib/cli/config/load.ts'
import {headerMappingsOf} from '../../../src/lib/cli/config/settings.ts'
import {writeProfile} from '../../../src/lib/cli/config/write.ts'
import {connectionConfig, readRateOf} from '../../../src/lib/cli/connection.ts'

let home = ''
let places = {env: {}, home: '', cwd: ''}

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'kdlq-config-'))
  places = {env: {XDG_CONFIG_HOME: join(home, 'xdg')}, home, cwd: join(home, 'work')}
  await mkdir(dirname(userFilePath(places)), {recursive: true})
  await mkdir(places.cwd)
})

afterEach(async () => rm(home, {recursive: true, force: true}))

const user = async (text: string) => writeFile(userFilePath(places), text)
const project = async (text: string) => writeFile(projectFilePath(places), text)
const load = async () => loadConfiguration(places)

describe('configuration files', () => {
  test('none at all is fine', async () => {
    expect(effectiveSettings(await load(), null)).toMatchObject({profileName: null, readOnly: false, defaults: {}})
  })

  test('lie in XDG_CONFIG_HOME, else in .config', () => {
    expect(userFilePath({...places, env: {}})).toBe(join(home, '.config/kdlq/config.yaml'))
    expect(userFilePath(places)).toBe(join(home, 'xdg/kdlq/config.yaml'))
  })

  test.each([
    ['profles: {}', 'unknown key profles', "did you mean 'profiles'?"],
    [
      'profiles: {prod: {bootstrapServer: a}}',
      'unknown key profiles.prod.bootstrapServer',
      "did you mean 'bootstrapServers'?",
    ],
    ['profiles: {prod: {security: {protocol: SSL3}}}', 'profiles.prod.security.protocol has to be one of', ''],
    ['profiles: {prod: {readOnly: 1}}', 'profiles.prod.readOnly has to be true or false', ''],
    ['[1, 2]', 'the file has to be a map of keys', ''],
    [
      'headerMappings: {exception.mesage: dlq-reason}',
      'unknown key headerMappings.exception.mesage',
      "did you mean 'exception.message'?",
    ],
    ['headerMappings: {attempts: {a: b}}', 'headerMappings.attempts has to be a text or a list of texts', ''],
    ['profiles: {prod: {defaults: {yes: true}}}', 'defaults.yes may not stand in a file', ''],
  ])('%s is an error that names the key', async (text, message, hint) => {
    await user(text)
    await expect(load()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message) as string,
      hints: expect.arrayContaining(hint === '' ? [] : [hint]) as string[],
    })
  })

  test('what one file hides, no other file can show', async () => {
    await user('redact: [iban]\nprofiles: {a: {redact: "card, iban"}}')
    await project('redact: []')
    expect(effectiveSettings(await load(), null).redact).toEqual(['iban'])
    expect(effectiveSettings(await load(), 'a').redact).toEqual(['iban', 'card'])
  })

  test('a slip in $key or $value is an error, for it would show what it was to hide', async () => {
    await user('redact: [iban, $vlaue]')
    const configuration = await load()
    expect(() => effectiveSettings(configuration, null)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        message: 'redact: there is no "$vlaue"',
        hints: expect.arrayContaining(["did you mean '$value'?"]) as string[],
      }),
    )
  })

  test('a number where a name is expected is its text', async () => {
    await user('redact: 5\nparkingTopic: 3\nheaderMappings: {origin.topic: 7, attempts: [8, a]}')
    const settings = effectiveSettings(await load(), null)
    expect(settings.redact).toEqual(['5'])
    expect(settings.parkingTopic).toBe('3')
    expect(headerMappingsOf(settings)).toEqual({'origin.topic': ['7'], attempts: ['8', 'a']})
  })

  test('so it is in a profile, and for the name of one', async () => {
    await user('profile: 1\nprofiles: {1: {ledger: 2, readRate: 50, parkingTopic: 9007199254740991}}')
    const settings = effectiveSettings(await load(), null)
    expect(settings).toMatchObject({profileName: '1', ledger: '2', readRate: '50', parkingTopic: '9007199254740991'})
  })

  test('broken YAML is an error that names the file', async () => {
    await user('a: [')
    await expect(load()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('config.yaml is not YAML') as string,
    })
  })

  test('the file of a working directory cannot say where to connect, or give rights', async () => {
    for (const text of [
      'profiles: {}',
      'bootstrapServers: evil:9092',
      'defaults: {bootstrap-server: "evil:9092"}',
      'defaults: {command-config: x}',
      'readOnly: false',
      'security: {}',
    ]) {
      await project(text)
      await expect(load()).rejects.toMatchObject({exitCode: 2})
    }
    await project('profile: prod\nstripHeaders: [x]\nreadOnly: true\ndefaults: {output: json}')
    expect((await load()).project?.content).toMatchObject({profile: 'prod', readOnly: true})
  })

  test('profile before working directory before user file; readOnly anywhere holds', async () => {
    await user(
      'profile: a\nstripHeaders: [user]\ndefaults: {limit: 5, output: csv}\nprofiles:\n  a: {bootstrapServers: "a:1", defaults: {output: json}}\n  b: {bootstrapServers: "b:1"}',
    )
    await project('stripHeaders: [project]\nreadOnly: true')
    const configuration = await load()
    expect(effectiveSettings(configuration, null)).toMatchObject({
      profileName: 'a',
      bootstrapServers: 'a:1',
      stripHeaders: ['project'],
      readOnly: true,
      defaults: {limit: 5, output: 'json'},
    })
    expect(effectiveSettings(configuration, 'b')).toMatchObject({profileName: 'b', bootstrapServers: 'b:1'})
    expect(() => effectiveSettings(configuration, 'bb')).toThrow('there is no profile "bb"')
  })
})

describe('config init', () => {
  test('adds a profile, keeps comments and other keys, readable by its owner only', async () => {
    await user('# mine\nprofiles:\n  old: {bootstrapServers: "o:1"} # keep\n')
    await writeProfile(userFilePath(places), 'prod', {bootstrapServers: ['p:1'], security: {protocol: 'SSL'}})
    const text = await readFile(userFilePath(places), 'utf8')
    expect(text).toContain('# mine')
    expect(text).toContain('# keep')
    expect(effectiveSettings(await load(), null)).toMatchObject({
      profileName: 'prod',
      bootstrapServers: ['p:1'],
      security: {protocol: 'SSL'},
    })
    expect((await stat(userFilePath(places))).mode & 0o777).toBe(0o600)
  })

  test('does not overwrite a profile', async () => {
    await writeProfile(userFilePath(places), 'prod', {bootstrapServers: ['p:1']})
    await expect(writeProfile(userFilePath(places), 'prod', {})).rejects.toMatchObject({exitCode: 2})
  })
})

describe('how to connect', () => {
  const deps = {env: {SECRET: 'geheim'}, command: 'config init'}
  const none = {profileName: null}

  test('flags before the profile; the client id names the command', async () => {
    const config = await connectionConfig(
      {'bootstrap-server': 'f:1'},
      {profileName: 'p', bootstrapServers: ['p:1']},
      deps,
    )
    expect(config).toMatchObject({
      bootstrapServers: [{host: 'f', port: 1}],
      clientId: 'kdlq-config-init',
      timeoutMs: 5000,
      tls: null,
      sasl: null,
    })
  })

  test('no cluster is exit 2 and says the three ways on', async () => {
    await expect(connectionConfig({}, none, deps)).rejects.toMatchObject({
      exitCode: 2,
      hints: [
        expect.stringContaining('--bootstrap-server'),
        expect.stringContaining('config init'),
        expect.stringContaining('kdlq inspect example:orders-dlq'),
      ],
    })
  })

  test('a password comes from a variable, a file or a command, and never shows', async () => {
    const file = join(home, 'password')
    await writeFile(file, 'geheim\n')
    for (const source of [{passwordEnv: 'SECRET'}, {passwordFile: file}, {passwordCommand: 'echo geheim'}]) {
      const security = {protocol: 'SASL_PLAINTEXT', mechanism: 'SCRAM-SHA-256', username: 'u', ...source}
      const {sasl} = await connectionConfig({'bootstrap-server': 'f:1'}, {...none, security}, deps)
      expect(sasl?.mechanism === 'SCRAM-SHA-256' ? sasl.password.reveal() : null).toBe('geheim')
      expect(JSON.stringify(sasl)).not.toContain('geheim')
    }
  })

  test.each([
    [{mechanism: 'PLAIN'}, 'security.mechanism needs security.protocol'],
    [{protocol: 'SASL_SSL', username: 'u'}, 'one of security.passwordFile, passwordEnv and passwordCommand'],
    [{protocol: 'SASL_SSL', username: 'u', passwordEnv: 'UNSET_VARIABLE'}, 'UNSET_VARIABLE'],
    [{protocol: 'SASL_SSL', passwordEnv: 'SECRET'}, 'security.username is missing'],
    [{protocol: 'SASL_SSL', username: 'u', passwordCommand: 'echo geheim; exit 3'}, 'passwordCommand (3)'],
  ])('a profile with %j is an error without its secret', async (security, message) => {
    const failed = await connectionConfig({'bootstrap-server': 'f:1'}, {profileName: 'prod', security}, deps).catch(
      (error: unknown) => error,
    )
    expect(failed).toMatchObject({exitCode: 2, message: expect.stringContaining(message) as string})
    expect(String(failed)).not.toContain('geheim')
  })

  test('TLS files of a profile, and a properties file instead of it', async () => {
    const tls = {ca: 'ca.pem', cert: 'c.pem', key: 'k.pem'}
    expect((await connectionConfig({'bootstrap-server': 'f:1'}, {...none, tls}, deps)).tls).toMatchObject({
      trust: {source: {path: 'ca.pem'}},
      key: {type: 'PEM'},
      verifyHostname: true,
    })
    const file = join(home, 'client.properties')
    await writeFile(file, 'bootstrap.servers=props:9\nclient.id=mine\n')
    expect(await connectionConfig({'command-config': file}, none, deps)).toMatchObject({
      bootstrapServers: [{host: 'props', port: 9}],
      clientId: 'mine',
    })
  })

  test('the read rate of a flag wins over that of the profile', () => {
    expect(readRateOf({}, {...none, readRate: '1MiB/s'})).toBe(1_048_576)
    expect(readRateOf({'read-rate': 5}, {...none, readRate: '1MiB/s'})).toBe(5)
    expect(readRateOf({'read-rate': null}, {...none, readRate: '1MiB/s'})).toBeUndefined()
  })
})
