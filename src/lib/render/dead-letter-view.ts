import type {DeadLetter} from '../dead-letter/model.ts'
import {letterBytes} from '../dead-letter/dead-letter.ts'
import type {RecordCoordinates} from '../dialects/model.ts'
import {headlineOf} from '../dialects/root-cause.ts'
import {bytesToFullText, bytesToText} from './bytes.ts'
import {deadLetterToJson} from './dead-letter-json.ts'
import type {DecodedJson} from './decoded-json.ts'
import {formatAge, formatTimestamp} from './time.ts'
import type {Column, RenderContext, View} from './view.ts'

/** `topic:partition:offset` as far as it is known; null without a topic. */
export function formatCoordinates(coordinates: RecordCoordinates | undefined): string | null {
  if (coordinates?.topic === undefined) return null
  const {topic, partition, offset} = coordinates
  if (partition === undefined) return topic
  return offset === undefined ? `${topic}:${partition}` : `${topic}:${partition}:${offset}`
}

/** Last part of a Java class name, nested classes kept: `Cast$Value`. */
export function simpleName(className: string): string {
  return className.slice(className.lastIndexOf('.') + 1)
}

/** Who failed: connector, consumer group or application. */
function ownerOf({failure}: DeadLetter): string | null {
  return failure.connector ?? failure.group ?? failure.app ?? null
}

const causeOf = ({failure}: DeadLetter): string | null => headlineOf(failure.exception).class

function time({record}: DeadLetter, {width, nowMs}: RenderContext): string | null {
  if (record.timestamp === null) return null
  return width === null ? formatTimestamp(record.timestamp) : formatAge(record.timestamp, nowMs)
}

const cell = (bytes: Buffer | null, {width}: RenderContext): string =>
  width === null ? bytesToFullText(bytes) : bytesToText(bytes, Math.max(width, 40))

const COLUMNS: readonly Column<DeadLetter>[] = [
  {name: 'address', header: 'ADDRESS', text: ({address}) => address, tone: () => 'name'},
  {name: 'topic', header: 'TOPIC', text: ({record}) => record.topic, minWidth: 8},
  {name: 'partition', header: 'PARTITION', align: 'right', text: ({record}) => `${record.partition}`},
  {name: 'offset', header: 'OFFSET', align: 'right', text: ({record}) => `${record.offset}`},
  {
    name: 'time',
    header: 'TIME',
    text: ({record}) => (record.timestamp === null ? null : formatTimestamp(record.timestamp)),
    display: time,
    priority: 4,
  },
  {name: 'stage', header: 'STAGE', text: ({failure}) => failure.stage ?? null, minWidth: 8, priority: 6},
  {
    name: 'exception',
    header: 'EXCEPTION',
    text: causeOf,
    display: (item, {width}) => {
      const name = causeOf(item)
      return name === null || width === null ? name : simpleName(name)
    },
    tone: () => 'bad',
    minWidth: 14,
    priority: 8,
  },
  {
    name: 'message',
    header: 'MESSAGE',
    text: ({failure}) => headlineOf(failure.exception).message,
    minWidth: 20,
    priority: 7,
  },
  {name: 'owner', header: 'OWNER', text: ownerOf, minWidth: 8, priority: 3},
  {name: 'origin', header: 'ORIGIN', text: ({failure}) => formatCoordinates(failure.origin), minWidth: 8, priority: 5},
  {
    name: 'key',
    header: 'KEY',
    text: ({record}) => bytesToFullText(record.key),
    display: ({record}, context) => cell(record.key, context),
    minWidth: 6,
    priority: 2,
  },
  {
    name: 'value',
    header: 'VALUE',
    text: ({record}) => bytesToFullText(record.value),
    display: ({record}, context) => cell(record.value, context),
    minWidth: 8,
    priority: 1,
  },
  {name: 'headers', header: 'HEADERS', align: 'right', text: ({record}) => `${record.headers.length}`, priority: 0},
  {name: 'fingerprint', header: 'FINGERPRINT', text: ({fingerprint}) => fingerprint, priority: 2},
  {
    name: 'attempts',
    header: 'ATTEMPTS',
    align: 'right',
    text: ({failure}) => (failure.attempts === undefined ? null : `${failure.attempts}`),
    priority: 1,
  },
  {
    name: 'hops',
    header: 'HOPS',
    align: 'right',
    text: ({failure}) => (failure.hops === undefined ? null : `${failure.hops}`),
    priority: 0,
  },
  {name: 'dialect', header: 'DIALECT', text: ({failure}) => failure.dialect, priority: 1},
  {name: 'component', header: 'COMPONENT', text: ({failure}) => failure.component ?? null, minWidth: 8, priority: 0},
  {name: 'connector', header: 'CONNECTOR', text: ({failure}) => failure.connector ?? null, minWidth: 8, priority: 1},
  {
    name: 'task',
    header: 'TASK',
    align: 'right',
    text: ({failure}) => (failure.task === undefined ? null : `${failure.task}`),
    priority: 0,
  },
  {name: 'group', header: 'GROUP', text: ({failure}) => failure.group ?? null, minWidth: 8, priority: 1},
  {name: 'app', header: 'APP', text: ({failure}) => failure.app ?? null, minWidth: 8, priority: 1},
  {
    name: 'value-bytes',
    header: 'VALUE BYTES',
    align: 'right',
    text: letter => `${letterBytes(letter).value}`,
    priority: 0,
  },
  {
    name: 'header-bytes',
    header: 'HEADER BYTES',
    align: 'right',
    text: letter => `${letterBytes(letter).headers}`,
    priority: 0,
  },
  {
    name: 'warnings',
    header: 'WARNINGS',
    text: ({failure}) => failure.warnings?.join(' ') ?? null,
    minWidth: 8,
    priority: 0,
  },
]

/**
 * Dead letters in lists.
 * @param options.decode adds decoded keys and values to the JSON forms and shows them in the columns; null = none
 */
export function createDeadLetterView(options: {
  readonly decode: ((deadLetter: DeadLetter) => DecodedJson) | null
}): View<DeadLetter> {
  return {
    list: 'records',
    toJson: item => deadLetterToJson(item, options.decode?.(item)),
    columns: options.decode === null ? COLUMNS : COLUMNS.map(column => decodedColumn(column, options.decode)),
    defaultColumns: ['address', 'time', 'stage', 'exception', 'message', 'owner', 'origin', 'key'],
    wideColumns: [
      'address',
      'time',
      'dialect',
      'stage',
      'exception',
      'message',
      'component',
      'owner',
      'task',
      'origin',
      'attempts',
      'hops',
      'fingerprint',
      'key',
      'value',
      'headers',
      'value-bytes',
      'header-bytes',
      'warnings',
    ],
  }
}

/** Keys and values as they were decoded; what could not be decoded stays as it is. */
function decodedColumn(
  column: Column<DeadLetter>,
  decode: ((deadLetter: DeadLetter) => DecodedJson) | null,
): Column<DeadLetter> {
  const {name} = column
  if (decode === null || (name !== 'key' && name !== 'value')) return column
  const textOf = (item: DeadLetter): string | null => {
    const json = decode(item)[name]
    if (json === null) return null
    return typeof json === 'string' ? json : JSON.stringify(json)
  }
  return {
    ...column,
    text: item => textOf(item) ?? column.text(item),
    display: (item, context) => {
      const text = textOf(item)
      return text === null ? (column.display?.(item, context) ?? null) : cell(Buffer.from(text), context)
    },
  }
}

/** Columns for records that are no dead letters: a plain topic. */
export const PLAIN_COLUMNS: readonly string[] = ['address', 'time', 'key', 'value', 'headers']
