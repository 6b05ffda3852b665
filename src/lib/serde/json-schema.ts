import type {AnySchemaObject, ErrorObject, ValidateFunction} from 'ajv'
import type {CompiledSchema, SchemaSource} from './compiled.ts'
import {DecodeFault} from './fault.ts'
import {decodeJson} from './json/decode.ts'
import {locateJson} from './json/scan.ts'
import {isObject, membersOf} from './objects.ts'
import {formatPath} from './path.ts'
import {createWithinTime, type WithinTime} from './within-time.ts'
import type {DecodedValue, DecodeProblem} from './types.ts'

/**
 * Limits in ms: schemas can be written so that preparing or checking takes for ever. Far above what honest ones need on a
 * busy machine.
 */
const LIMITS = {prepareMs: 10_000, checkMs: 2000}
/** Stands before the names of schemas, which are names and no addresses. */
const BASE = 'kdlq:///'

/**
 * Reads a JSON Schema with ajv: drafts 4 to 7 as draft 7, 2019-09 and 2020-12. Patterns run in linear time; formats are
 * not checked. Loads ajv and re2js.
 * @throws Error for a schema that is none
 */
export async function compileJsonSchema(
  {text, references}: SchemaSource,
  limits: typeof LIMITS = LIMITS,
): Promise<CompiledSchema> {
  const root = parseSchema(text)
  const validate = await createValidator(root, references, createWithinTime(limits.prepareMs))
  const withinTime = createWithinTime(limits.checkMs)
  const title = typeof root === 'object' && typeof root['title'] === 'string' ? root['title'] : null
  // A schema that is too slow for one value is not asked about the next.
  let tooSlow: DecodeProblem | null = null
  const check = (value: DecodedValue, json: Buffer, start: number): DecodeProblem | null => {
    if (tooSlow !== null) return tooSlow
    let isValid = false
    try {
      withinTime(() => {
        isValid = validate(value)
      })
    } catch (error) {
      if (!(error instanceof DecodeFault)) throw error
      tooSlow = error.problem
      return tooSlow
    }
    return isValid ? null : explain(validate.errors?.[0], json, start)
  }
  return {
    type: 'JSON',
    decode({bytes, start}) {
      const json = bytes.subarray(start)
      const value = decodeAt(json, start)
      const problem = check(value, json, start)
      return {value, name: title, ...(problem === null ? {} : {problem})}
    },
  }
}

async function createValidator(
  root: AnySchemaObject | boolean,
  references: SchemaSource['references'],
  withinTime: WithinTime,
): Promise<ValidateFunction> {
  const [{default: ajvModule}, {RE2JS}] = await Promise.all([importAjv(dialectOf(root)), import('re2js')])
  const ajv = new ajvModule.default({
    strict: false,
    validateFormats: false,
    logger: false,
    addUsedSchema: false,
    code: {regExp: Object.assign((pattern: string) => new LinearPattern(RE2JS.compile(pattern)), {code: 'linear'})},
  })
  // ajv compares each item with each other.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    validate: (wanted: unknown, items: unknown[]) => wanted !== true || isUnique(items),
  })
  const base = typeof root === 'object' && typeof root['$id'] === 'string' ? root['$id'] : BASE
  for (const {name, text} of references) {
    const schema = parseSchema(text)
    const keys = new Set([name, resolved(name, base)])
    for (const key of keys) if (ajv.getSchema(key) === undefined) ajv.addSchema(withoutId(schema), key)
    if (typeof schema === 'object' && typeof schema['$id'] === 'string' && !keys.has(schema['$id'])) {
      ajv.addSchema(withoutId(schema), schema['$id'])
    }
  }
  let validate: ValidateFunction | null = null
  withinTime(() => {
    validate = ajv.compile(root)
  })
  return validate ?? ajv.compile(false)
}

/** Each draft is a module of its own, so only what is needed is loaded. */
async function importAjv(dialect: '2019' | '2020' | 'draft-07') {
  if (dialect === '2020') return import('ajv/dist/2020.js')
  if (dialect === '2019') return import('ajv/dist/2019.js')
  return import('ajv')
}

function dialectOf(root: AnySchemaObject | boolean): '2019' | '2020' | 'draft-07' {
  const dialect: unknown = typeof root === 'object' ? root['$schema'] : undefined
  if (typeof dialect !== 'string') return 'draft-07'
  if (dialect.includes('2020-12')) return '2020'
  return dialect.includes('2019-09') ? '2019' : 'draft-07'
}

function parseSchema(text: string): AnySchemaObject | boolean {
  const schema: unknown = JSON.parse(text)
  if (typeof schema === 'boolean') return schema
  if (!isObject(schema) || Array.isArray(schema)) throw new TypeError('a JSON schema is an object')
  const {$schema: dialect, id, ...rest} = schema
  // Draft 4 and 6 differ from 7 in names only, and ajv refuses a dialect that it does not know.
  const isKnown = typeof dialect === 'string' && /2019-09|2020-12|draft-07/.test(dialect)
  return {
    ...(isKnown ? {$schema: dialect} : {}),
    ...(typeof id === 'string' && !('$id' in rest) ? {$id: id} : isId(id)),
    ...rest,
  }
}

const isId = (id: unknown): Record<string, unknown> => (id === undefined || typeof id === 'string' ? {} : {id})

function withoutId(schema: AnySchemaObject | boolean): AnySchemaObject | boolean {
  if (typeof schema === 'boolean') return schema
  const {$id: _, $schema: __, ...rest} = schema
  return rest
}

function resolved(name: string, base: string): string {
  try {
    return new URL(name, base).href
  } catch {
    return name
  }
}

interface Matcher {
  matcher(text: string): {find(): boolean}
  pattern(): string
}

/** What ajv asks of a pattern, on a matcher in linear time. ajv keeps patterns apart by their text. */
class LinearPattern {
  readonly #pattern: Matcher

  constructor(pattern: Matcher) {
    this.#pattern = pattern
  }

  test(text: string): boolean {
    return this.#pattern.matcher(text).find()
  }

  toString(): string {
    return this.#pattern.pattern()
  }
}

function isUnique(items: readonly unknown[]): boolean {
  const seen = new Set(items.map(canonical))
  return seen.size === items.length
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `${typeof value}:${String(value)}`
  if (Array.isArray(value)) return `[${value.map(item => JSON.stringify(canonical(item))).join()}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => JSON.stringify([name, canonical(member)])).join()}}`
}

function decodeAt(json: Buffer, start: number): DecodedValue {
  try {
    return decodeJson(json)
  } catch (error) {
    if (!(error instanceof DecodeFault)) throw error
    const {step, message, at, field} = error.problem
    throw new DecodeFault(step, message, {at: at === undefined ? undefined : at + start, field})
  }
}

function explain(error: ErrorObject | undefined, json: Buffer, start: number): DecodeProblem {
  if (error === undefined) return {step: 'validate', message: 'the value breaks the schema'}
  const path = error.instancePath.split('/').slice(1).map(unescapePointer)
  const at = locateJson(json, path)
  const field = formatPath(path.map(segment => (/^[0-9]+$/.test(segment) ? Number(segment) : segment)))
  return {
    step: 'validate',
    message: messageOf(error),
    ...(at === null ? {} : {at: at + start}),
    ...(field === '' ? {} : {field}),
  }
}

function messageOf({keyword, message = 'breaks the schema', params}: ErrorObject): string {
  const {additionalProperty} = membersOf(params)
  if (keyword === 'uniqueItems') return 'must NOT have equal items'
  return keyword === 'additionalProperties' && typeof additionalProperty === 'string'
    ? `${message}: ${JSON.stringify(additionalProperty)}`
    : message
}

const unescapePointer = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~')
