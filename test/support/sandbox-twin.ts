/** The sandbox's sink and transform again, for our own runner: same configuration, same exceptions. */
import {javaDecimal} from '../../src/lib/connect-engine/converters/java-decimal.ts'
import type {SinkRecord} from '../../src/lib/connect-engine/data.ts'
import {
  ConnectException,
  DataException,
  JavaException,
  RetriableException,
} from '../../src/lib/connect-engine/errors.ts'
import {PLUGINS, type PluginRegistry, type PluginSettings} from '../../src/lib/connect-engine/plugins.ts'
import {javaText} from '../../src/lib/connect-engine/source-record-text.ts'
import type {SinkTask, SinkTaskContext} from '../../src/lib/connect-engine/sink-task.ts'
import type {TransformableRecord, Transformation} from '../../src/lib/connect-engine/transforms/transformation.ts'

function field(record: {readonly value: unknown}, name: string): unknown {
  return record.value instanceof Map ? (record.value as ReadonlyMap<unknown, unknown>).get(name) : undefined
}

function numberText(value: unknown): string {
  return typeof value === 'number' ? javaDecimal(value) : javaText(value)
}

class RejectedRecordException extends ConnectException {
  override readonly className = 'org.kdlq.sandbox.SandboxSinkTask$RejectedRecordException'
}

const RULES: Readonly<Record<string, (record: SinkRecord) => Error | null>> = {
  'negative-amount': record => {
    const amount = field(record, 'amount')
    const isNegative = (typeof amount === 'bigint' || typeof amount === 'number') && amount < 0
    const id = numberText(field(record, 'id'))
    return isNegative ? new RejectedRecordException(`amount ${numberText(amount)} of ${id} is negative`) : null
  },
  'no-customer': record =>
    field(record, 'customer') === null
      ? new JavaException({className: 'java.lang.NullPointerException', message: null})
      : null,
  'duplicate-id': record => {
    if (field(record, 'duplicate') !== true) return null
    const driver = new JavaException({className: 'java.sql.SQLException', message: 'duplicate key'})
    return new ConnectException('insert failed', {cause: driver})
  },
  all: () => new RejectedRecordException('the sink is closed for maintenance'),
}

/** Twin of SandboxSinkTask, without its file. */
export class TwinSinkTask implements SinkTask {
  #context: SinkTaskContext | null = null
  #rules: readonly ((record: SinkRecord) => Error | null)[] = []
  #busyPuts = 0

  start(context: SinkTaskContext): void {
    this.#context = context
    const names = (context.properties['sink.reject'] ?? '').split(',').filter(name => name !== '')
    this.#rules = names.flatMap(name => RULES[name] ?? [])
    this.#busyPuts = Number(context.properties['sink.busy.puts'] ?? '0')
  }

  put(records: readonly SinkRecord[]): void {
    const reporter = this.#context?.errantRecordReporter() ?? null
    for (const record of records) {
      const refusal = this.#rules.map(rule => rule(record)).find(each => each !== null)
      if (refusal === undefined) continue
      if (reporter === null) {
        throw new ConnectException('record refused and no reporter configured', {cause: refusal})
      }
      reporter.report(record, refusal)
    }
    if (records.length === 0 || this.#busyPuts === 0) return
    this.#busyPuts -= 1
    this.#context?.timeout(50)
    throw new RetriableException('the sink is busy')
  }

  stop(): void {}
}

/** Twin of WarehouseLookup. */
class TwinWarehouseLookup implements Transformation {
  readonly className = 'org.kdlq.sandbox.WarehouseLookup'
  readonly #downAttempts: number
  #failedAttempts = 0

  constructor(settings: PluginSettings) {
    this.#downAttempts = Number(settings['down.attempts'] ?? Infinity)
  }

  apply<R extends TransformableRecord<R>>(record: R): R {
    if (!(record.value instanceof Map)) return record
    const sku = field(record, 'sku')
    const value = new Map(record.value).set('warehouse', this.#warehouseOf(typeof sku === 'string' ? sku : 'null'))
    return record.newRecord({valueSchema: null, value})
  }

  #warehouseOf(sku: string): string {
    if (sku.startsWith('X-')) throw new DataException(`no warehouse holds ${sku}`)
    if (sku.startsWith('D-')) {
      if (this.#failedAttempts++ < this.#downAttempts) throw new RetriableException(`lookup of ${sku} failed`)
      this.#failedAttempts = 0
    }
    const text = sku.slice(sku.indexOf('-') + 1)
    if (/^\d+$/.test(text)) return `wh-${Number(text) % 3}`
    const className = 'java.lang.NumberFormatException'
    throw new JavaException({className, message: `For input string: "${text}"`})
  }
}

/** Our plugins and the sandbox's transform. */
export const TWIN_PLUGINS: PluginRegistry = {
  ...PLUGINS,
  transformations: {
    ...PLUGINS.transformations,
    'org.kdlq.sandbox.WarehouseLookup': settings => new TwinWarehouseLookup(settings),
  },
}
