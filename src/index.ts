/** The library: dead letters and what their headers say. Loads neither a Kafka client nor anything of the program. */
export {createDeadLetter, recordBytes} from './lib/dead-letter/dead-letter.ts'
export type {RecordBytes} from './lib/dead-letter/dead-letter.ts'
export {failureKind, fingerprint} from './lib/dead-letter/fingerprint.ts'
export type {FailureKind} from './lib/dead-letter/fingerprint.ts'
export {foldStackTrace} from './lib/dead-letter/stack-trace.ts'
export type {FoldedLine, FoldedSection, FoldedStackTrace} from './lib/dead-letter/stack-trace.ts'
export {discoverTopics} from './lib/dead-letter/discover/discover.ts'
export type {DiscoverInput} from './lib/dead-letter/discover/discover.ts'
export type {DiscoveredTopic, DiscoverySource, TopicWarning} from './lib/dead-letter/discover/model.ts'
export type {DeadLetter, PartitionScan} from './lib/dead-letter/model.ts'
export {connectHeaders, CONNECT_STAGES} from './lib/dialects/connect.ts'
export type {ConnectContext, ConnectStage} from './lib/dialects/connect.ts'
export {decodeFailure} from './lib/dialects/decode.ts'
export type {Dialect, DialectReading, HeaderTest} from './lib/dialects/dialect.ts'
export {HeaderTable} from './lib/dialects/header-table.ts'
export type {HeaderOccurrence} from './lib/dialects/header-table.ts'
export type {DialectId, Failure, FailureException, RecordCoordinates, Warning} from './lib/dialects/model.ts'
export {DIALECTS, knownStages} from './lib/dialects/registry.ts'
export {
  carriedHeaders,
  defaultTimestampRule,
  hasConsistentOrigin,
  headerStripper,
  isHarmfulHeader,
  originalPayload,
  originalTimestamp,
  payloadState,
  replayBlocks,
} from './lib/dialects/restore.ts'
export type {ReplayBlock, StripOptions} from './lib/dialects/restore.ts'
export {withHeaderMappings} from './lib/dialects/families/custom.ts'
export type {HeaderMappings} from './lib/dialects/families/custom.ts'
export {failureTimeline} from './lib/dialects/timeline.ts'
export type {FailureHop} from './lib/dialects/timeline.ts'
export {isDlqName} from './lib/dialects/topic-name.ts'
export {writableDialects, writeFailure} from './lib/dialects/write.ts'
export {formatAddress, isLegalTopicName} from './lib/kafka/record.ts'
export type {KafkaRecord, Offset, RecordHeader, TimestampType, TopicName} from './lib/kafka/record.ts'
export {createGrouper} from './lib/dead-letter/group.ts'
export type {FailureGroup, Grouper, GrouperOptions, GroupReport} from './lib/dead-letter/group.ts'
export {GROUP_KEYS, isGroupKey} from './lib/dead-letter/group-keys.ts'
export type {GroupKey, GroupValue} from './lib/dead-letter/group-keys.ts'
export {createStatistics} from './lib/dead-letter/statistics.ts'
export type {DeadLetterStatistics, StatisticsCollector, StatisticsOptions} from './lib/dead-letter/statistics.ts'
export type {HistogramBucket} from './lib/dead-letter/histogram.ts'
export {freezeSelection} from './lib/dead-letter/freeze.ts'
export type {FreezeDeps} from './lib/dead-letter/freeze.ts'
export {scanDeadLetters} from './lib/dead-letter/scan.ts'
export type {DeadLetterScan} from './lib/dead-letter/scan.ts'
export {compileFilters} from './lib/select/compile.ts'
export type {CompiledFilters, FilterDeps} from './lib/select/compile.ts'
export {NO_FILTERS, parseFilterSpec, toFilterSpec} from './lib/select/filter-spec.ts'
export type {FilterSpec, FilterValues} from './lib/select/filter-spec.ts'
export {selectAll} from './lib/select/selection.ts'
export type {FrozenRange, FrozenSelection, Selection} from './lib/select/selection.ts'
export type {
  Cluster,
  ClusterAdmin,
  ClusterDescription,
  ClusterReader,
  ClusterWriter,
  ProducerSession,
  ReadRange,
  ReadRequest,
  RecordBlock,
} from './lib/kafka/ports.ts'
