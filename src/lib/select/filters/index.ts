/** The table of filters: flags, help, plans and the scan all follow it. Cheap ones first, --where last. */
import {headerFilter, keyFilter} from './bytes.ts'
import {exceptionFilter} from './exception.ts'
import type {FilterDefinition} from './filter.ts'
import {messageFilter} from './message.ts'
import {attemptsFilter, fingerprintFilter} from './numbers.ts'
import {originFilter} from './origin.ts'
import {appFilter, connectorFilter, dialectFilter, groupFilter, taskFilter} from './owner.ts'
import {stageFilter} from './stage.ts'
import {whereFilter} from './where.ts'

export const FILTERS = {
  key: keyFilter,
  header: headerFilter,
  stage: stageFilter,
  connector: connectorFilter,
  task: taskFilter,
  group: groupFilter,
  app: appFilter,
  dialect: dialectFilter,
  origin: originFilter,
  attempts: attemptsFilter,
  exception: exceptionFilter,
  message: messageFilter,
  fingerprint: fingerprintFilter,
  where: whereFilter,
} as const satisfies Record<string, FilterDefinition>

/** Name of a filter: its flag without the dashes; the twin is `not-` and this. */
export type FilterName = keyof typeof FILTERS

/** True for the name of a filter. */
export function isFilterName(name: string): name is FilterName {
  return Object.hasOwn(FILTERS, name)
}

export const FILTER_NAMES: readonly FilterName[] = Object.keys(FILTERS).filter(isFilterName)
