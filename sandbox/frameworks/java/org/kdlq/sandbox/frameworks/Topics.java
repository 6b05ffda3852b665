package org.kdlq.sandbox.frameworks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;

/** Topics by framework, created before anything starts; Spring makes its retry topics and their dead letter topic itself. */
final class Topics {
  static final String BLOCKING = "fw-orders";
  static final String RETRYING = "fw-trips";
  static final String INVOICES = "fw-invoices";
  static final String STREAMS = "fw-streams";
  static final String STREAMS_DLQ = "fw-streams-dlq";
  static final String SHARED = "fw-shared";
  static final String SHARED_DLQ = "dlq.fw-shared";
  static final String SHARE_GROUP = "fw-share-group";

  private Topics() {}

  static void create(String bootstrapServers) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers))) {
      List<NewTopic> topics = new ArrayList<>();
      for (String name : List.of(BLOCKING, BLOCKING + "-dlt", RETRYING, INVOICES, INVOICES + "-dlt", STREAMS, STREAMS_DLQ, SHARED)) {
        topics.add(new NewTopic(name, 2, (short) 1));
      }
      // Without this switch the broker drops what the group rejects, and only its own log says so.
      topics.add(new NewTopic(SHARED_DLQ, 1, (short) 1).configs(Map.of("errors.deadletterqueue.group.enable", "true")));
      admin.createTopics(topics).all().get();
      admin.incrementalAlterConfigs(Map.of(
          new ConfigResource(ConfigResource.Type.GROUP, SHARE_GROUP),
          List.of(
              set("share.auto.offset.reset", "earliest"),
              set("errors.deadletterqueue.topic.name", SHARED_DLQ)))).all().get();
    }
  }

  private static AlterConfigOp set(String name, String value) {
    return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
  }
}
