/**
 * Packages whose stack frames say nothing about the application: the platform, Kafka, and the frameworks around them.
 * Each entry is the beginning of a binary class name.
 */
export const FRAMEWORK_PREFIXES: readonly string[] = [
  'java.',
  'javax.',
  'jakarta.',
  'jdk.',
  'sun.',
  'com.sun.',
  'kotlin.',
  'kotlinx.',
  'scala.',
  'groovy.',
  'clojure.',
  'org.apache.kafka.',
  'org.apache.avro.',
  'org.apache.camel.',
  'org.apache.pekko.',
  'akka.',
  'io.confluent.',
  'io.micrometer.',
  'io.micronaut.',
  'io.netty.',
  'io.opentelemetry.',
  'io.quarkus.',
  'io.smallrye.',
  'io.vertx.',
  'org.springframework.',
  'org.aspectj.',
  'org.jboss.',
  'org.hibernate.',
  'org.postgresql.',
  'org.eclipse.jetty.',
  'com.fasterxml.jackson.',
  'tools.jackson.',
  'com.google.common.',
  'com.google.gson.',
  'com.google.protobuf.',
  'com.mysql.',
  'com.zaxxer.hikari.',
  'net.bytebuddy.',
  'oracle.jdbc.',
  'reactor.',
  'io.reactivex.',
  'rx.',
]

/** True for a class of the platform or a framework. */
export function isFrameworkClass(className: string): boolean {
  return FRAMEWORK_PREFIXES.some(prefix => className.startsWith(prefix))
}
