package org.kdlq.sandbox.frameworks;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.kdlq.sandbox.ArchiveLine;

/** What happened, one line of JSON each, on what was standard output when the process started. */
final class Events {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private Events() {}

  static void say(String event) {
    write(ArchiveLine.JSON.createObjectNode().put("event", event));
  }

  /** A framework took this record and did not fail on it. */
  static void processed(String by, ConsumerRecord<byte[], byte[]> record) {
    ObjectNode line = ArchiveLine.JSON.createObjectNode().put("event", "processed").put("by", by);
    line.set("record", ArchiveLine.write(record));
    write(line);
  }

  private static synchronized void write(ObjectNode line) {
    OUT.println(ArchiveLine.text(line));
  }
}
