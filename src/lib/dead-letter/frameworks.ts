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
  com: [
    'fasterxml.jackson.',
    'google.common.',
    'google.gson.',
    'google.protobuf.',
    'mysql.',
    'sun.',
    'wixpress.dst.greyhound.',
    'zaxxer.hikari.',
  ],
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

/** Beginnings of names that say nothing about the application, for traces that are not Java's. */
const OTHER_FRAMEWORKS = {
  /** Namespaces. */
  dotnet: [
    'System.',
    'Microsoft.',
    'Confluent.Kafka.',
    'Silverback.',
    'Wolverine.',
    'JasperFx.',
    'MassTransit.',
    'KafkaFlow.',
    'Newtonsoft.',
    'Polly.',
    'Npgsql.',
    'lambda_method',
  ],
  /** Import paths; the standard library has no dot in the first part. */
  go: [
    'panic',
    'bufio.',
    'bytes.',
    'context.',
    'crypto/',
    'database/sql.',
    'encoding/',
    'errors.',
    'fmt.',
    'internal/',
    'io.',
    'net.',
    'net/',
    'os.',
    'reflect.',
    'runtime.',
    'runtime/',
    'strconv.',
    'strings.',
    'sync.',
    'syscall.',
    'testing.',
    'time.',
    'golang.org/x/',
    'google.golang.org/',
    'github.com/IBM/sarama',
    'github.com/Shopify/sarama',
    'github.com/ThreeDotsLabs/watermill',
    'github.com/Trendyol/kafka-cronsumer',
    'github.com/confluentinc/confluent-kafka-go',
    'github.com/pkg/errors',
    'github.com/segmentio/kafka-go',
    'github.com/twmb/franz-go',
  ],
  /** Namespaces. */
  php: ['Illuminate\\', 'Junges\\Kafka\\', 'Laravel\\', 'RdKafka\\', 'Symfony\\', 'Composer\\', '{main}'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Parts of file names where the code of others lies, for languages whose frames name a file. */
const FRAMEWORK_FILES = {
  node: ['node:', 'node_modules', 'internal/', '<anonymous>', 'native'],
  python: ['site-packages', 'dist-packages', '/lib/python', '\\Lib\\', '<frozen ', '<string>'],
  ruby: ['/gems/', '/lib/ruby/', '<internal:'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** True for a function of the platform or a framework, by the beginning of its name. */
export function isFrameworkName(language: keyof typeof OTHER_FRAMEWORKS, name: string): boolean {
  return OTHER_FRAMEWORKS[language].some(prefix => name.startsWith(prefix))
}

/** True for a source file of the platform or a framework, by its path. */
export function isFrameworkFile(language: keyof typeof FRAMEWORK_FILES, path: string): boolean {
  return FRAMEWORK_FILES[language].some(part => path.includes(part))
}
