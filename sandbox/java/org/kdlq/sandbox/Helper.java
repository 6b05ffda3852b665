package org.kdlq.sandbox;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's Java client behind a line protocol: one JSON command a line on standard input, one JSON answer a line on standard
 * output. One process serves a whole test run. It ends with its input.
 */
public final class Helper {
  private final String bootstrapServers;
  /** By transactional id. They stay open between commands, so a transaction can be held open as long as a test needs it. */
  private final Map<String, KafkaProducer<byte[], byte[]>> transactional = new HashMap<>();

  private Admin admin;

  private Helper(String bootstrapServers) {
    this.bootstrapServers = bootstrapServers;
  }

  public static void main(String[] args) throws Exception {
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    // Whatever a library prints must not mix with the answers.
    System.setOut(System.err);
    BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> read(commands), "commands");
    reader.setDaemon(true);
    reader.start();
    Helper helper = new Helper(args[0]);
    while (true) {
      JsonNode command = ArchiveLine.JSON.readTree(commands.take());
      ObjectNode answer = ArchiveLine.JSON.createObjectNode();
      answer.set("id", command.get("id"));
      try {
        answer.set("result", helper.run(command));
      } catch (Exception e) {
        Throwable cause = e instanceof java.util.concurrent.ExecutionException ? e.getCause() : e;
        answer.put("error", cause.toString());
      }
      answers.println(ArchiveLine.text(answer));
    }
  }

  /** Reads ahead, so that the end of the input is seen while a command is running. */
  private static void read(BlockingQueue<String> commands) {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) commands.add(line);
    } catch (java.io.IOException e) {
      // A broken pipe says the same as its end.
    }
    Runtime.getRuntime().halt(0);
  }

  private JsonNode run(JsonNode command) throws Exception {
    switch (command.get("command").asText()) {
      case "createTopic":
        return createTopic(command);
      case "deleteTopic":
        admin().deleteTopics(List.of(command.get("topic").asText())).all().get();
        return ArchiveLine.JSON.nullNode();
      case "deleteRecords":
        return deleteRecords(command);
      case "commitOffset":
        return commitOffset(command);
      case "committedOffsets":
        return committedOffsets(command);
      case "produce":
        return produce(command);
      case "transactions":
        return transactions(command);
      case "consume":
        return consume(command);
      case "endOffsets":
        return endOffsets(command);
      default:
        throw new IllegalArgumentException("unknown command " + command.get("command"));
    }
  }

  private Admin admin() {
    if (admin == null) admin = Admin.create(client());
    return admin;
  }

  private Properties client() {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", bootstrapServers);
    return properties;
  }

  private JsonNode createTopic(JsonNode command) throws Exception {
    NewTopic topic = new NewTopic(command.get("topic").asText(), command.path("partitions").asInt(1), (short) 1);
    topic.configs(strings(command.path("configs")));
    admin().createTopics(List.of(topic)).all().get();
    return ArchiveLine.JSON.nullNode();
  }

  private JsonNode deleteRecords(JsonNode command) throws Exception {
    TopicPartition partition = new TopicPartition(command.get("topic").asText(), command.get("partition").asInt());
    RecordsToDelete before = RecordsToDelete.beforeOffset(command.get("before").asLong());
    admin().deleteRecords(Map.of(partition, before)).all().get();
    return ArchiveLine.JSON.nullNode();
  }

  private JsonNode commitOffset(JsonNode command) throws Exception {
    TopicPartition partition = new TopicPartition(command.get("topic").asText(), command.get("partition").asInt());
    OffsetAndMetadata offset = new OffsetAndMetadata(command.get("offset").asLong());
    admin().alterConsumerGroupOffsets(command.get("group").asText(), Map.of(partition, offset)).all().get();
    return ArchiveLine.JSON.nullNode();
  }

  private JsonNode committedOffsets(JsonNode command) throws Exception {
    ArrayNode result = ArchiveLine.JSON.createArrayNode();
    admin().listConsumerGroupOffsets(command.get("group").asText()).partitionsToOffsetAndMetadata().get()
        .forEach((partition, offset) -> result.addObject().put("topic", partition.topic())
            .put("partition", partition.partition()).put("offset", Long.toString(offset.offset())));
    return result;
  }

  private KafkaProducer<byte[], byte[]> producer(JsonNode config, String transactionalId) {
    Properties properties = client();
    properties.put("acks", "all");
    properties.put("max.request.size", "20000000");
    properties.putAll(strings(config));
    if (transactionalId != null) properties.put("transactional.id", transactionalId);
    return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
  }

  private JsonNode produce(JsonNode command) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer = producer(command.path("config"), null)) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (JsonNode record : command.get("records")) sent.add(producer.send(ArchiveLine.read(record)));
      producer.flush();
      return places(sent);
    }
  }

  private static ArrayNode places(List<Future<RecordMetadata>> sent) throws Exception {
    ArrayNode places = ArchiveLine.JSON.createArrayNode();
    for (Future<RecordMetadata> future : sent) {
      RecordMetadata place = future.get();
      places.addObject().put("partition", place.partition()).put("offset", Long.toString(place.offset()));
    }
    return places;
  }

  /** Steps run one after the other; each send is flushed, so the log has the batches in the order of the script. */
  private JsonNode transactions(JsonNode command) throws Exception {
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    for (JsonNode step : command.get("steps")) {
      String id = step.get("id").asText();
      KafkaProducer<byte[], byte[]> producer = transactional.get(id);
      switch (step.get("do").asText()) {
        case "begin":
          if (producer == null) {
            producer = producer(command.path("config"), id);
            producer.initTransactions();
            transactional.put(id, producer);
          }
          producer.beginTransaction();
          break;
        case "send":
          for (JsonNode record : step.get("records")) sent.add(producer.send(ArchiveLine.read(record)));
          producer.flush();
          break;
        case "commit":
          producer.commitTransaction();
          break;
        case "abort":
          producer.abortTransaction();
          break;
        case "close":
          transactional.remove(id).close(Duration.ZERO);
          break;
        default:
          throw new IllegalArgumentException("unknown step " + step);
      }
    }
    return places(sent);
  }

  private List<TopicPartition> partitions(KafkaConsumer<byte[], byte[]> consumer, String topic) {
    return consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())).sorted(
        (a, b) -> Integer.compare(a.partition(), b.partition())).toList();
  }

  private KafkaConsumer<byte[], byte[]> consumer(String isolationLevel) {
    Properties properties = client();
    properties.put("isolation.level", isolationLevel);
    properties.put("auto.offset.reset", "earliest");
    properties.put("enable.auto.commit", "false");
    properties.put("allow.auto.create.topics", "false");
    return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /** All records of a topic up to its present end, by partition and offset. */
  private JsonNode consume(JsonNode command) {
    ArrayNode records = ArchiveLine.JSON.createArrayNode();
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(command.path("isolationLevel").asText("read_committed"))) {
      for (TopicPartition partition : partitions(consumer, command.get("topic").asText())) {
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        long end = consumer.endOffsets(List.of(partition)).get(partition);
        while (consumer.position(partition) < end) {
          for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
            if (record.offset() < end) records.add(ArchiveLine.write(record));
          }
        }
      }
    }
    return records;
  }

  private JsonNode endOffsets(JsonNode command) {
    ArrayNode ends = ArchiveLine.JSON.createArrayNode();
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(command.path("isolationLevel").asText("read_committed"))) {
      List<TopicPartition> partitions = partitions(consumer, command.get("topic").asText());
      Map<TopicPartition, Long> offsets = consumer.endOffsets(partitions);
      for (TopicPartition partition : partitions) ends.add(Long.toString(offsets.get(partition)));
    }
    return ends;
  }

  private static Map<String, String> strings(JsonNode node) {
    Map<String, String> result = new HashMap<>();
    node.fieldNames().forEachRemaining(name -> result.put(name, node.get(name).asText()));
    return result;
  }
}
