/**
 * Exceptions that only carry another one: what they say is not the reason. A cause header that names one of them gives way
 * to the last cause of the trace.
 */
export const WRAPPER_CLASSES: ReadonlySet<string> = new Set([
  'java.lang.reflect.InvocationTargetException',
  'java.lang.reflect.UndeclaredThrowableException',
  'java.util.concurrent.CompletionException',
  'java.util.concurrent.ExecutionException',
  'java.io.UncheckedIOException',
  'javax.ejb.EJBException',
  'jakarta.ejb.EJBException',
  'io.smallrye.mutiny.CompositeException',
  'io.reactivex.exceptions.CompositeException',
  'reactor.core.Exceptions$ReactiveException',
  'org.apache.camel.CamelExecutionException',
  'org.apache.camel.RuntimeCamelException',
  'org.apache.kafka.common.errors.RecordDeserializationException',
  'org.apache.kafka.connect.errors.ConnectException',
  'org.apache.kafka.streams.errors.StreamsException',
  'org.springframework.kafka.KafkaException',
  'org.springframework.kafka.listener.BatchListenerFailedException',
  'org.springframework.kafka.listener.ListenerExecutionFailedException',
  'org.springframework.kafka.listener.TimestampedException',
  'org.springframework.kafka.support.serializer.DeserializationException',
  'org.springframework.messaging.MessageHandlingException',
  'org.springframework.messaging.MessagingException',
  'org.springframework.transaction.TransactionSystemException',
  'System.AggregateException',
  'System.Reflection.TargetInvocationException',
  'System.TypeInitializationException',
])
