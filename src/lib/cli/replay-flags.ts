import * as Flags from '@oclif/core/flags'
import type {HeaderMappings} from '../dialects/families/custom.ts'
import {UsageError} from '../errors.ts'
import {isLegalTopicName} from '../kafka/record.ts'
import type {CompressionType} from '../kafka/records/types.ts'
import {DEFAULT_LEDGER} from '../replay/ledger/types.ts'
import type {PlanLedger, ReplayPlan} from '../replay/plan.ts'
import type {PlanInput} from '../replay/plan-input.ts'
import {byteRateFlag} from './flags.ts'
import {DECODE_FORMATS} from '../serde/index.ts'
import {runLimitFlags} from './run-limits.ts'
import {errorFlags, toErrors, toParkingTopic} from './replay-error-flags.ts'
import type {ErrorFlags} from './replay-error-flags.ts'
import {parseCount, parseRate, ratePerSecond, type RecordRate} from '../select/values.ts'

const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const satisfies readonly CompressionType[]

const rateFlag = Flags.custom<RecordRate>({
  parse: async (text, _, {name}) => parseRate(text, `--${name}`),
  helpValue: 'N/s',
})

const countFlag = Flags.custom<number>({
  parse: async (text, _, {name}) => {
    const count = parseCount(text, `--${name}`)
    if (count > 0) return count
    throw new UsageError(`--${name} must be at least 1`)
  },
  helpValue: 'N',
})
/** A flag that names a ledger. */
export const ledgerFlag = Flags.custom<LedgerChoice>({
  parse: async (text, _, {name}) => parseLedgerChoice(text, `--${name}`),
  helpValue: 'topic:NAME|file:PATH|none',
})

/** `--ledger`: what a person can choose. */
export type LedgerChoice = Exclude<PlanLedger, {readonly kind: 'archive'}>

/** @throws UsageError naming the flag or setting */
export function parseLedgerChoice(text: string, flag: string): LedgerChoice {
  if (text === 'none') return {kind: 'none'}
  const [, kind, name = ''] = /^(topic|file):(.+)$/s.exec(text) ?? []
  if (kind === 'file') return {kind: 'file', path: name}
  if (kind === 'topic' && isLegalTopicName(name)) return {kind: 'topic', name}
  throw new UsageError(`invalid value ${JSON.stringify(text)} for ${flag}`, {
    hints: ['give topic:NAME, file:PATH or none'],
  })
}

const repeatable = {multiple: true, multipleNonGreedy: true} as const

/** The flag that names a ledger. */
export const ledgerFlags = {
  ledger: ledgerFlag({
    helpGroup: 'ledger',
    summary: 'Where it is written down what was done; default the topic kdlq-ledger.',
  }),
}

/** What a person decides about records of which nobody knows whether they were sent. */
export const resumeFlags = {
  'resend-unknown': Flags.boolean({
    helpGroup: 'ledger',
    summary: 'Send again what may have been written: it may then be there twice.',
  }),
}

/** Flags that say what a plan does; a plan file has them in it. */
export const planFlags = {
  'target-topic': Flags.string({
    helpGroup: 'target',
    helpValue: 'TOPIC',
    summary: 'Send to this topic; {origin.topic} stands for the origin. Default: the origin topic.',
  }),
  'partition-rule': Flags.option({
    options: ['origin', 'key'] as const,
    helpGroup: 'target',
    summary: "Partition of the origin (default), or by key as Kafka's Java producer.",
  })(),
  'partition-fallback': Flags.option({
    options: ['key'] as const,
    helpGroup: 'target',
    summary: 'Let the key decide where the target lacks the origin partition; default: refuse.',
  })(),
  timestamp: Flags.option({
    options: ['original', 'now'] as const,
    helpGroup: 'record',
    summary: 'Time of the original record, or of sending; default original, for retry topics of Spring now.',
  })(),
  'from-origin': Flags.boolean({
    helpGroup: 'record',
    summary: 'Send the record that stands at the origin, not the copy in the dead letter topic.',
  }),
  'keep-header': Flags.string({
    ...repeatable,
    helpGroup: 'record',
    helpValue: 'NAME',
    summary: 'Keep a header that would be stripped; * stands for anything.',
  }),
  'drop-header': Flags.string({
    ...repeatable,
    helpGroup: 'record',
    helpValue: 'NAME',
    summary: 'Remove a header that would be kept; * stands for anything.',
  }),
  'set-header': Flags.string({
    ...repeatable,
    helpGroup: 'record',
    helpValue: 'NAME=VALUE',
    summary: 'Set a header, in place of what the record has under this name.',
  }),
  'no-provenance': Flags.boolean({
    helpGroup: 'record',
    summary: 'Do not add the header kdlq.replay: the record equals its original.',
  }),
  decode: Flags.string({
    ...repeatable,
    helpGroup: 'record',
    helpValue: 'FORMAT',
    summary: `Send only what can be read as [key=|value=]FORMAT: ${DECODE_FORMATS.join(', ')}; alone it means auto.`,
  }),
  rate: rateFlag({
    helpGroup: 'pace',
    summary: 'Records a second (500/s), minute (30/m) or hour, or none; default 500/s.',
  }),
  'bytes-rate': byteRateFlag({helpGroup: 'pace', summary: 'Bytes a second, such as 5MiB/s; default no bound.'}),
  compression: Flags.option({
    options: COMPRESSIONS,
    helpGroup: 'target',
    summary: 'Codec of the batches that are written; default lz4.',
  })(),
  order: Flags.option({
    options: ['origin', 'dlq'] as const,
    helpGroup: 'pace',
    summary: 'Order of each origin partition (default), or of the dead letter topic, which is faster.',
  })(),
  delivery: Flags.option({
    options: ['exactly-once', 'at-least-once'] as const,
    helpGroup: 'ledger',
    summary: 'Records and their ledger entries in one transaction (default), or without transactions.',
  })(),
  ...ledgerFlags,
  handled: Flags.option({
    options: ['hide', 'show', 'only'] as const,
    helpGroup: 'ledger',
    summary: 'Leave out what the ledger knows as handled (default), send it again, or send nothing else.',
  })(),
  ...resumeFlags,
  'max-attempts': countFlag({
    helpGroup: 'ledger',
    summary: 'Replays of one dead letter and its successors; more are parked, or held. Default 3.',
  }),
  'parking-topic': Flags.string({
    helpGroup: 'failure',
    helpValue: 'TOPIC',
    summary: "Put what cannot be replayed into this topic, with why; '' = none.",
  }),
  allow: Flags.string({
    ...repeatable,
    helpGroup: 'writing',
    helpValue: 'CHECK',
    summary: 'Send the records on which this check refuses.',
  }),
  skip: Flags.string({
    ...repeatable,
    helpGroup: 'writing',
    helpValue: 'CHECK',
    summary: 'Leave out the records on which this check finds something.',
  }),
}

/** Flags that name another target than the cluster that is read. */
export const targetFlags = {
  'to-archive': Flags.string({
    helpGroup: 'target',
    helpValue: 'DIR',
    exclusive: ['target-bootstrap-server', 'target-profile', 'target-command-config'],
    summary: 'Write to an archive instead of a cluster.',
  }),
  'target-bootstrap-server': Flags.string({
    helpGroup: 'target',
    helpValue: 'HOST:PORT[,..]',
    summary: 'Write to another cluster than the one that is read.',
  }),
  'target-profile': Flags.string({
    helpGroup: 'target',
    helpValue: 'NAME',
    summary: 'As --target-bootstrap-server, by profile.',
  }),
  'target-command-config': Flags.string({
    helpGroup: 'target',
    helpValue: 'FILE',
    summary: 'Java client .properties file for the target cluster.',
  }),
}

/** Flags that say how a plan is executed. */
export const runFlags = {
  ...errorFlags,
  plan: Flags.string({
    helpGroup: 'writing',
    helpValue: 'FILE',
    summary: 'Execute exactly this plan; refused on another cluster and for recreated topics.',
  }),
  'plan-out': Flags.string({
    helpGroup: 'writing',
    helpValue: 'FILE',
    exclusive: ['plan'],
    summary: 'Save the plan, for --plan.',
  }),
  'create-ledger': Flags.boolean({helpGroup: 'ledger', summary: 'Create the ledger topic when it is missing.'}),
  'take-over': Flags.string({
    helpGroup: 'ledger',
    helpValue: 'RUN',
    summary: 'End another run that holds these partitions, for good, and take its place.',
  }),
  ...runLimitFlags,
  'fail-if-empty': Flags.boolean({helpGroup: 'writing', summary: 'Exit 3 when nothing was selected.'}),
  ...targetFlags,
}

/** Values of `planFlags`. */
export interface PlanFlags extends ErrorFlags {
  readonly 'target-topic'?: string | undefined
  readonly 'partition-rule'?: 'origin' | 'key' | undefined
  readonly 'partition-fallback'?: 'key' | undefined
  readonly timestamp?: 'original' | 'now' | undefined
  readonly 'from-origin'?: boolean | undefined
  readonly 'keep-header'?: readonly string[] | undefined
  readonly 'drop-header'?: readonly string[] | undefined
  readonly 'set-header'?: readonly string[] | undefined
  readonly 'no-provenance'?: boolean | undefined
  readonly decode?: readonly string[] | undefined
  readonly rate?: RecordRate | undefined
  readonly 'bytes-rate'?: number | null | undefined
  readonly compression?: CompressionType | undefined
  readonly order?: ReplayPlan['order'] | undefined
  readonly delivery?: ReplayPlan['delivery'] | undefined
  readonly ledger?: LedgerChoice | undefined
  readonly handled?: ReplayPlan['handled'] | undefined
  readonly 'resend-unknown'?: boolean | undefined
  readonly 'max-attempts'?: number | undefined
  readonly 'parking-topic'?: string | undefined
  readonly allow?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
}

/** Replays of one chain unless `--max-attempts` says otherwise. */
const DEFAULT_MAX_ATTEMPTS = 3
const DEFAULT_RATE: RecordRate = {records: 500, per: 's'}

/** What the configuration says about headers. */
export interface HeaderSettings {
  /** Names, `*` stands for anything: removed from every record. */
  readonly stripHeaders: readonly string[]
  readonly headerMappings: HeaderMappings
}

/**
 * What a plan does, from flags.
 * @param settings what the configuration says about headers
 * @param context.ledgerSetting `ledger` of the configuration: a topic name, or what `--ledger` takes
 * @param context.parkingSetting `parkingTopic` of the configuration
 * @throws UsageError for a header without a value, and for a ledger that cannot hold what the delivery promises
 */
export function toPlanPolicy(
  flags: PlanFlags,
  {stripHeaders, headerMappings}: HeaderSettings,
  context: {
    readonly target: 'kafka' | 'archive'
    readonly ledgerSetting: string | null
    readonly parkingSetting?: string | null
  },
): Omit<PlanInput, 'selection'> {
  const delivery = deliveryOf(flags, context)
  return {
    ...delivery,
    order: flags.order ?? 'origin',
    handled: handledOf(flags, delivery.ledger),
    resendUnknown: resendOf(flags, delivery.ledger),
    fromOrigin: flags['from-origin'] === true,
    maxAttempts: flags['max-attempts'] ?? DEFAULT_MAX_ATTEMPTS,
    errors: toErrors(flags),
    parkingTopic: toParkingTopic(flags['parking-topic'], context.parkingSetting ?? null),
    target: {
      topic: flags['target-topic'] ?? '{origin.topic}',
      partitionRule: flags['partition-rule'] ?? 'origin',
      partitionFallback: flags['partition-fallback'] ?? null,
    },
    headers: {
      strip: true,
      keep: flags['keep-header'] ?? [],
      drop: [...stripHeaders, ...(flags['drop-header'] ?? [])],
      set: (flags['set-header'] ?? []).map(parseHeader),
      provenance: flags['no-provenance'] !== true,
      ...(Object.keys(headerMappings).length === 0 ? {} : {mappings: headerMappings}),
    },
    timestamp: flags.timestamp ?? 'default',
    rate: ratePerSecond(flags.rate === undefined ? DEFAULT_RATE : flags.rate),
    bytesRate: flags['bytes-rate'] ?? null,
    compression: flags.compression ?? 'lz4',
    allow: flags.allow ?? [],
    skip: flags.skip ?? [],
  }
}

function deliveryOf(
  flags: PlanFlags,
  context: {readonly target: 'kafka' | 'archive'; readonly ledgerSetting: string | null},
): Pick<ReplayPlan, 'delivery' | 'ledger'> {
  const {delivery = 'exactly-once'} = flags
  if (context.target === 'archive') {
    const {ledger = {kind: 'archive'}} = flags
    if (ledger.kind === 'topic') {
      throw new UsageError('an archive keeps its own ledger, not one in a topic', {
        hints: ['leave --ledger out, or give file:PATH or none with --delivery at-least-once'],
      })
    }
    assertHolds(delivery, ledger)
    return {delivery, ledger}
  }
  const ledger = toLedgerChoice(flags.ledger, context.ledgerSetting)
  assertHolds(delivery, ledger)
  return {delivery, ledger}
}

/** The ledger of a flag, else of the setting `ledger`, else the topic kdlq-ledger. @throws UsageError naming the setting */
export function toLedgerChoice(flag: LedgerChoice | undefined, setting: string | null): LedgerChoice {
  if (flag !== undefined) return flag
  if (setting === null) return {kind: 'topic', name: DEFAULT_LEDGER}
  return parseLedgerChoice(setting.includes(':') || setting === 'none' ? setting : `topic:${setting}`, 'ledger')
}

function assertHolds(delivery: ReplayPlan['delivery'], ledger: PlanLedger): void {
  if (delivery === 'at-least-once' || ledger.kind === 'topic' || ledger.kind === 'archive') return
  const named = ledger.kind === 'file' ? 'a ledger file' : 'no ledger'
  throw new UsageError(`exactly-once needs a ledger in the target itself, not ${named}`, {
    code: 'E_LEDGER_DELIVERY',
    hints: ['add --delivery at-least-once, or leave --ledger out'],
  })
}

function handledOf({handled}: PlanFlags, ledger: PlanLedger): ReplayPlan['handled'] {
  if (handled !== undefined && handled !== 'show' && ledger.kind === 'none') {
    throw new UsageError(`--handled ${handled} needs a ledger`, {hints: ['leave --ledger none out']})
  }
  return handled ?? (ledger.kind === 'none' ? 'show' : 'hide')
}

function resendOf({'resend-unknown': resend = false}: PlanFlags, ledger: PlanLedger): boolean {
  if (resend && ledger.kind === 'none') {
    throw new UsageError('--resend-unknown needs a ledger', {hints: ['leave --ledger none out']})
  }
  return resend
}

function parseHeader(text: string): {name: string; value: string} {
  const at = text.indexOf('=')
  if (at < 0) {
    throw new UsageError(`invalid value ${JSON.stringify(text)} for --set-header: give NAME=VALUE`, {
      hints: [`for an empty value: --set-header ${text}=`],
    })
  }
  return {name: text.slice(0, at), value: text.slice(at + 1)}
}
