import {connect} from './connect.ts'
import type {Dialect} from './dialect.ts'
import {awsLambda} from './families/aws-lambda.ts'
import {azkarra} from './families/azkarra.ts'
import {confluentReporter} from './families/confluent-reporter.ts'
import {cronsumer} from './families/cronsumer.ts'
import {generic} from './families/generic.ts'
import {greyhound} from './families/greyhound.ts'
import {kafkaflow} from './families/kafkaflow.ts'
import {karafka} from './families/karafka.ts'
import {kdlq} from './families/kdlq.ts'
import {knative} from './families/knative.ts'
import {ksqldbLog} from './families/ksqldb-log.ts'
import {laravel} from './families/laravel.ts'
import {masstransit} from './families/masstransit.ts'
import {micronaut} from './families/micronaut.ts'
import {quarkiverseStreams} from './families/quarkiverse-streams.ts'
import {redpandaConnect} from './families/redpanda-connect.ts'
import {scstEmbedded} from './families/scst-embedded.ts'
import {scst} from './families/scst.ts'
import {shareGroup} from './families/share-group.ts'
import {silverback} from './families/silverback.ts'
import {smallryeRetry} from './families/smallrye-retry.ts'
import {smallrye} from './families/smallrye.ts'
import {springDlt} from './families/spring-dlt.ts'
import {springRetry} from './families/spring-retry.ts'
import {streamsBakdata} from './families/streams-bakdata.ts'
import {streams} from './families/streams.ts'
import {uberDlq} from './families/uber-dlq.ts'
import {watermill} from './families/watermill.ts'
import {wolverine} from './families/wolverine.ts'

/** All header families in tie-break order: the earlier one is the outer one when nothing else tells. */
export const DIALECTS: readonly Dialect[] = [
  connect,
  shareGroup,
  streamsBakdata,
  streams,
  springRetry,
  springDlt,
  scst,
  scstEmbedded,
  smallrye,
  quarkiverseStreams,
  smallryeRetry,
  karafka,
  micronaut,
  silverback,
  wolverine,
  masstransit,
  laravel,
  watermill,
  greyhound,
  cronsumer,
  kdlq,
  azkarra,
  confluentReporter,
  kafkaflow,
  redpandaConnect,
  awsLambda,
  ksqldbLog,
  knative,
  uberDlq,
  generic,
]

/** Every word that `--stage` accepts, without repeats. */
export function knownStages(dialects: readonly Dialect[] = DIALECTS): string[] {
  return [...new Set(dialects.flatMap(dialect => dialect.stages))]
}
