package org.kdlq.sandbox.frameworks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a share group that rejects poison; the broker then writes a pointer to the record (KIP-1191). */
final class ShareApp {
  private ShareApp() {}

  static void run(String bootstrapServers) {
    Map<String, Object> config = Map.of(
        "bootstrap.servers", bootstrapServers,
        "group.id", Topics.SHARE_GROUP,
        "share.acknowledgement.mode", "explicit");
    try (KafkaShareConsumer<byte[], byte[]> consumer =
        new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of(Topics.SHARED));
      while (true) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          AcknowledgeType answer = process(record);
          consumer.acknowledge(record, answer);
        }
        consumer.commitSync();
      }
    }
  }

  private static AcknowledgeType process(ConsumerRecord<byte[], byte[]> record) {
    try {
      Faults.check(record.value());
    } catch (RuntimeException e) {
      return AcknowledgeType.REJECT;
    }
    Events.processed("share", record);
    return AcknowledgeType.ACCEPT;
  }
}
