import {isDataSchema} from '../converters/schema.ts'
import {ConfigException} from '../config-value.ts'
import type {ConnectRecordFields} from '../data.ts'
import {DataException, JavaException} from '../errors.ts'
import {compileJavaPattern, type JavaPattern} from '../java-pattern/compile.ts'
import {expandReplacement} from '../java-pattern/replacement.ts'
import {type Half, halfOf, replaceHalf, requireMap, requireStruct} from './operating.ts'
import type {Predicate, TransformableRecord, Transformation} from './transformation.ts'

const EXTRACTION = 'field extraction'

/** Replaces a key or value by one of its fields. @see Connect's ExtractField */
export class ExtractField implements Transformation {
  readonly className: string
  readonly #half: Half
  readonly #field: string

  constructor(half: Half, field: string) {
    this.className = `org.apache.kafka.connect.transforms.ExtractField$${half}`
    this.#half = half
    this.#field = field
  }

  /** @throws DataException for data without fields, JavaException (IllegalArgumentException) for a field not in the schema */
  apply<R extends TransformableRecord<R>>(record: R): R {
    const {schema, value} = halfOf(record, this.#half)
    const isNull = value === null || value === undefined
    if (schema === null) {
      const field = isNull ? null : (requireMap(value, EXTRACTION).get(this.#field) ?? null)
      return record.newRecord(replaceHalf(this.#half, null, field))
    }
    const struct = isNull ? null : requireStruct(value, EXTRACTION)
    if (schema.type !== 'STRUCT') throw new DataException('Cannot look up fields on non-struct type')
    const field = isDataSchema(schema) ? schema.fields.find(({name}) => name === this.#field) : undefined
    if (field === undefined) {
      const message = `Unknown field: ${this.#field}`
      throw new JavaException({className: 'java.lang.IllegalArgumentException', message})
    }
    return record.newRecord(replaceHalf(this.#half, field.schema, struct === null ? null : struct.get(this.#field)))
  }
}

/** Sends records on to another topic, by a pattern that the whole name matches. @see Connect's RegexRouter */
export class RegexRouter implements Transformation {
  readonly className = 'org.apache.kafka.connect.transforms.RegexRouter'
  readonly #pattern: JavaPattern
  readonly #replacement: string

  /**
   * @param replacement with `$1`, `${name}` and `\$`, as Java has them
   * @throws ConfigException for a pattern that is none
   */
  constructor(regex: string, replacement: string) {
    this.#pattern = patternOf('regex', regex)
    this.#replacement = replacement
  }

  apply<R extends TransformableRecord<R>>(record: R): R {
    const groups = this.#pattern.match(record.topic)
    if (groups === null) return record
    const topic = expandReplacement(this.#replacement, groups, this.#pattern.groupNames)
    return record.newRecord({topic})
  }
}

/** Drops every record that reaches it; made for predicates. @see Connect's Filter */
export class Filter implements Transformation {
  readonly className = 'org.apache.kafka.connect.transforms.Filter'

  apply(): null {
    return null
  }
}

/** @see Connect's RecordIsTombstone */
export class RecordIsTombstone implements Predicate {
  test(record: ConnectRecordFields): boolean {
    return record.value === null || record.value === undefined
  }
}

/** @see Connect's HasHeaderKey */
export class HasHeaderKey implements Predicate {
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  test(record: ConnectRecordFields): boolean {
    return record.headers.some(({key}) => key === this.#name)
  }
}

/** @see Connect's TopicNameMatches */
export class TopicNameMatches implements Predicate {
  readonly #pattern: JavaPattern

  /** @throws ConfigException for a pattern that is none */
  constructor(pattern: string) {
    this.#pattern = patternOf('pattern', pattern)
  }

  test(record: ConnectRecordFields): boolean {
    return this.#pattern.match(record.topic) !== null
  }
}

function patternOf(key: string, text: string): JavaPattern {
  try {
    return compileJavaPattern(text)
  } catch (error) {
    throw ConfigException.ofValue(key, text, `Invalid regex: ${error instanceof Error ? error.message : ''}`)
  }
}
