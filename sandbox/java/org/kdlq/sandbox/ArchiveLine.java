package org.kdlq.sandbox;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** One record as one line of JSON that loses nothing: order of headers, repeats, nulls, bytes that are no text. */
public final class ArchiveLine {
  public static final ObjectMapper JSON = new ObjectMapper();

  private ArchiveLine() {}

  public static ObjectNode write(ConsumerRecord<byte[], byte[]> record) {
    ObjectNode line = JSON.createObjectNode();
    line.put("topic", record.topic());
    line.put("partition", record.partition());
    line.put("offset", Long.toString(record.offset()));
    line.put("timestamp", Long.toString(record.timestamp()));
    line.put("timestampType", record.timestampType().toString());
    line.set("key", bytes(record.key()));
    line.set("value", bytes(record.value()));
    ArrayNode headers = line.putArray("headers");
    for (Header header : record.headers()) headers.addArray().add(header.key()).add(bytes(header.value()));
    return line;
  }

  public static String text(JsonNode node) {
    try {
      return JSON.writeValueAsString(node);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Partition and timestamp may be absent or null: then the producer decides. */
  static ProducerRecord<byte[], byte[]> read(JsonNode line) {
    List<Header> headers = new ArrayList<>();
    for (JsonNode pair : line.path("headers")) {
      headers.add(new RecordHeader(pair.get(0).asText(), bytes(pair.get(1))));
    }
    Integer partition = line.hasNonNull("partition") ? Integer.valueOf(line.get("partition").asInt()) : null;
    Long timestamp = line.hasNonNull("timestamp") ? Long.valueOf(line.get("timestamp").asText()) : null;
    byte[] key = bytes(line.get("key"));
    byte[] value = bytes(line.get("value"));
    return new ProducerRecord<>(line.get("topic").asText(), partition, timestamp, key, value, headers);
  }

  static JsonNode bytes(byte[] bytes) {
    if (bytes == null) return JSON.nullNode();
    return JSON.createObjectNode().put("base64", Base64.getEncoder().encodeToString(bytes));
  }

  private static byte[] bytes(JsonNode node) {
    if (node == null || node.isNull()) return null;
    if (node.isTextual()) return node.asText().getBytes(StandardCharsets.UTF_8);
    return Base64.getDecoder().decode(node.get("base64").asText());
  }
}
