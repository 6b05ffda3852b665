/**
 * Packages whose stack frames say nothing about the application: the platform, Kafka, and the frameworks around them. By
 * the first part of the package, the beginnings of what may follow; an empty one covers the whole part.
 */
export const FRAMEWORK_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  java: [''],
  javax: [''],
  jakarta: [''],
  jdk: [''],
  sun: [''],
  kotlin: [''],
  kotlinx: [''],
  scala: [''],
  groovy: [''],
  clojure: [''],
  akka: [''],
  reactor: [''],
  rx: [''],
  com: ['fasterxml.jackson.', 'google.common.', 'google.gson.', 'google.protobuf.', 'mysql.', 'sun.', 'zaxxer.hikari.'],
  io: [
    'confluent.',
    'micrometer.',
    'micronaut.',
    'netty.',
    'opentelemetry.',
    'quarkus.',
    'reactivex.',
    'smallrye.',
    'vertx.',
  ],
  net: ['bytebuddy.'],
  oracle: ['jdbc.'],
  org: [
    'apache.avro.',
    'apache.camel.',
    'apache.kafka.',
    'apache.pekko.',
    'aspectj.',
    'eclipse.jetty.',
    'hibernate.',
    'jboss.',
    'postgresql.',
    'springframework.',
  ],
  tools: ['jackson.'],
}

/** True for a class of the platform or a framework. */
export function isFrameworkClass(className: string): boolean {
  const dot = className.indexOf('.')
  const first = className.slice(0, Math.max(dot, 0))
  if (!Object.hasOwn(FRAMEWORK_PACKAGES, first)) return false
  return FRAMEWORK_PACKAGES[first]?.some(prefix => className.startsWith(prefix, dot + 1)) === true
}
