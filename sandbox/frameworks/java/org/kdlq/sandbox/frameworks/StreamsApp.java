package org.kdlq.sandbox.frameworks;

import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** Kafka Streams with its own dead letter queue (KIP-1034): what cannot be read, and what a processor throws on. */
final class StreamsApp {
  private StreamsApp() {}

  static void start(String bootstrapServers) {
    StreamsBuilder builder = new StreamsBuilder();
    builder
        .stream(
            Topics.STREAMS,
            Consumed.with(Serdes.ByteArray(), Serdes.serdeFrom(Serdes.ByteArray().serializer(), new StrictDeserializer())))
        .process(Sink::new);
    KafkaStreams streams = new KafkaStreams(builder.build(), config(bootstrapServers));
    streams.start();
  }

  private static Properties config(String bootstrapServers) {
    Properties config = new Properties();
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, "fw-streams-app");
    config.put(StreamsConfig.STATE_DIR_CONFIG, System.getProperty("kdlq.state.dir"));
    config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "100");
    config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    config.put(StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueExceptionHandler.class);
    config.put(StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueProcessingExceptionHandler.class);
    config.put(StreamsConfig.ERRORS_DEAD_LETTER_QUEUE_TOPIC_NAME_CONFIG, Topics.STREAMS_DLQ);
    return config;
  }

  private static final class Sink extends ContextualProcessor<byte[], byte[], Void, Void> {
    @Override
    public void process(Record<byte[], byte[]> record) {
      Faults.check(record.value());
      RecordMetadata place = context().recordMetadata().orElseThrow();
      Events.processed("streams", new ConsumerRecord<>(
          place.topic(), place.partition(), place.offset(), record.timestamp(), TimestampType.CREATE_TIME, -1, -1,
          record.key(), record.value(), new RecordHeaders(record.headers()), java.util.Optional.empty()));
    }
  }
}
