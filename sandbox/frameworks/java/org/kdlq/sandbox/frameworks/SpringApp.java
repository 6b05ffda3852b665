package org.kdlq.sandbox.frameworks;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.EnableKafkaRetryTopic;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Spring for Apache Kafka three times: blocking retries with a dead letter recoverer, retry topics, and a deserializer
 * that fails before the listener is called.
 */
@Configuration
@EnableKafka
@EnableKafkaRetryTopic
public class SpringApp {
  private static volatile String bootstrapServers;

  static void start(String servers) {
    bootstrapServers = servers;
    new AnnotationConfigApplicationContext(SpringApp.class);
  }

  @KafkaListener(topics = Topics.BLOCKING, groupId = "fw-billing", containerFactory = "blocking")
  public void orders(ConsumerRecord<byte[], byte[]> record) {
    Faults.check(record.value());
    Events.processed("spring-blocking", record);
  }

  @RetryableTopic(
      attempts = "3",
      backOff = @BackOff(delay = 100, multiplier = 2),
      numPartitions = "2",
      autoStartDltHandler = "false",
      kafkaTemplate = "template")
  @KafkaListener(topics = Topics.RETRYING, groupId = "fw-trips-app", containerFactory = "retrying")
  public void trips(ConsumerRecord<byte[], byte[]> record) {
    Faults.check(record.value());
    Events.processed("spring-retry", record);
  }

  @KafkaListener(topics = Topics.INVOICES, groupId = "fw-invoices-app", containerFactory = "invoices")
  public void invoices(ConsumerRecord<byte[], byte[]> record) {
    Events.processed("spring-deserializer", record);
  }

  @Bean
  KafkaAdmin admin() {
    return new KafkaAdmin(Map.of("bootstrap.servers", bootstrapServers));
  }

  @Bean
  TaskScheduler scheduler() {
    return new ThreadPoolTaskScheduler();
  }

  @Bean
  KafkaTemplate<byte[], byte[]> template() {
    return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(
        Map.of("bootstrap.servers", bootstrapServers), new ByteArraySerializer(), new ByteArraySerializer()));
  }

  @Bean
  ConcurrentKafkaListenerContainerFactory<byte[], byte[]> blocking(KafkaTemplate<byte[], byte[]> template) {
    ConcurrentKafkaListenerContainerFactory<byte[], byte[]> factory = factory(Map.of());
    factory.setCommonErrorHandler(
        new DefaultErrorHandler(new DeadLetterPublishingRecoverer(template), new FixedBackOff(50, 2)));
    return factory;
  }

  @Bean
  ConcurrentKafkaListenerContainerFactory<byte[], byte[]> retrying() {
    return factory(Map.of());
  }

  /** The value is lost to the dead letter, and only the header with the serialised exception still has its bytes. */
  @Bean
  ConcurrentKafkaListenerContainerFactory<byte[], byte[]> invoices(KafkaTemplate<byte[], byte[]> template) {
    DeadLetterPublishingRecoverer recoverer = new DeadLetterPublishingRecoverer(template) {
      @Override
      protected ProducerRecord<Object, Object> createProducerRecord(
          ConsumerRecord<?, ?> record, TopicPartition target, Headers headers, byte[] key, byte[] value) {
        return new ProducerRecord<>(target.topic(), target.partition(), record.key(), null, headers);
      }
    };
    recoverer.setRetainExceptionHeader(true);
    ConcurrentKafkaListenerContainerFactory<byte[], byte[]> factory = factory(Map.of(
        "value.deserializer", ErrorHandlingDeserializer.class,
        ErrorHandlingDeserializer.VALUE_DESERIALIZER_CLASS, StrictDeserializer.class));
    factory.setCommonErrorHandler(new DefaultErrorHandler(recoverer, new FixedBackOff(50, 2)));
    return factory;
  }

  private static ConcurrentKafkaListenerContainerFactory<byte[], byte[]> factory(Map<String, Object> special) {
    Map<String, Object> config = new java.util.HashMap<>(Map.of(
        "bootstrap.servers", bootstrapServers,
        "auto.offset.reset", "earliest",
        // A retry seeks, and a seek waits for the fetch that is under way.
        "fetch.max.wait.ms", "50",
        "key.deserializer", ByteArrayDeserializer.class,
        "value.deserializer", ByteArrayDeserializer.class));
    config.putAll(special);
    ConcurrentKafkaListenerContainerFactory<byte[], byte[]> factory = new ConcurrentKafkaListenerContainerFactory<>();
    factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(config));
    return factory;
  }
}
