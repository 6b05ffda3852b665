package org.kdlq.sandbox;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

/** A sink that writes what it processed to a file and, by configuration, refuses some records. */
public class SandboxSinkConnector extends SinkConnector {
  static final String OUTPUT_DIR = "sink.output.dir";
  static final String REJECT = "sink.reject";
  static final String BUSY_PUTS = "sink.busy.puts";

  private static final ConfigDef CONFIG = new ConfigDef()
      .define(OUTPUT_DIR, ConfigDef.Type.STRING, ConfigDef.Importance.HIGH,
          "Folder for the files CONNECTOR-TASK.ndjson: one line for each processed record.")
      .define(REJECT, ConfigDef.Type.LIST, List.of(), ConfigDef.Importance.HIGH,
          "Rules by which records are refused: " + Rule.names() + ". Empty: every record is processed.")
      .define(BUSY_PUTS, ConfigDef.Type.INT, 0, ConfigDef.Importance.LOW,
          "How many times a put with records fails retriably, after it reported what it refuses, before one goes through.");

  private Map<String, String> config;

  @Override
  public void start(Map<String, String> props) {
    config = Map.copyOf(props);
    for (String name : Rule.list(config.getOrDefault(REJECT, ""))) Rule.byName(name);
  }

  @Override
  public Class<? extends Task> taskClass() {
    return SandboxSinkTask.class;
  }

  @Override
  public List<Map<String, String>> taskConfigs(int maxTasks) {
    return IntStream.range(0, maxTasks).mapToObj(index -> {
      Map<String, String> task = new java.util.HashMap<>(config);
      task.put(SandboxSinkTask.TASK_NUMBER, Integer.toString(index));
      return task;
    }).toList();
  }

  @Override
  public void stop() {}

  @Override
  public ConfigDef config() {
    return CONFIG;
  }

  @Override
  public String version() {
    return "1.0.0";
  }
}
