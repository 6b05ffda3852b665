/** The replay of kdlq as a library: clusters and archives to read and write, plan, checks, throttle, run. */
export {openArchive} from './lib/kafka/archive/index.ts'
export type {ArchiveOptions} from './lib/kafka/archive/index.ts'
export {connectCluster} from './lib/kafka/client/index.ts'
export type {ConnectOptions, KafkaCluster} from './lib/kafka/client/index.ts'
export {parseClientProperties} from './lib/kafka/client/properties.ts'
export {createConnectionConfig, PLAINTEXT, parseBootstrapServers} from './lib/kafka/client/security.ts'
export type {ConnectionConfig} from './lib/kafka/client/security.ts'
export {CHECKS} from './lib/replay/checks.ts'
export type {CheckDefinition, CheckLevel, CheckSubject} from './lib/replay/checks.ts'
export {DEFAULT_HEADER_POLICY} from './lib/replay/header-policy.ts'
export type {HeaderPolicy} from './lib/replay/header-policy.ts'
export {murmur2, partitionForKey} from './lib/replay/murmur2.ts'
export {DEFAULT_ERRORS, PLAN_VERSION} from './lib/replay/plan.ts'
export type {
  CheckResult,
  DecodeRule,
  PlanCluster,
  PlanCounts,
  PlanDecode,
  PlanErrors,
  PlanRange,
  PlanSample,
  ReplayPlan,
} from './lib/replay/plan.ts'
export {readPlanFile, writePlanFile} from './lib/replay/plan-file.ts'
export {planReplay} from './lib/replay/plan-replay.ts'
export type {PlanDeps, PlanInput, PlannedReplay} from './lib/replay/plan-input.ts'
export {validatePlan} from './lib/replay/plan-validate.ts'
export {parseProvenance, PROVENANCE_HEADER} from './lib/replay/provenance.ts'
export type {Provenance} from './lib/replay/provenance.ts'
export type {RecordFailure, ReplayCounts, ReplayOutcome, ReplayResult, StopReason} from './lib/replay/result.ts'
export {createRunId, isRunId} from './lib/replay/run-id.ts'
export {runReplay} from './lib/replay/run-replay.ts'
export type {RunDeps, RunInput, RunProgress} from './lib/replay/run-input.ts'
export {ORIGIN_TARGET} from './lib/replay/target.ts'
export type {TargetFacts, TargetRule} from './lib/replay/target.ts'
export {Throttle, TokenBucket} from './lib/replay/throttle.ts'
export type {Rates} from './lib/replay/throttle.ts'
export type {Delivery, OpenDelivery} from './lib/replay/delivery.ts'
export type {ChunkWriter} from './lib/replay/write-chunk.ts'
export {createDecoders, createRegistryStore, parseDecodeFormats, parseRegistryUrls} from './lib/serde/index.ts'
export type {Decoders, RegistryConfig} from './lib/serde/index.ts'
