package org.kdlq.sandbox;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** See {@link SandboxSinkConnector}. A line on disk means that the record was processed. */
public class SandboxSinkTask extends SinkTask {
  static final String TASK_NUMBER = "sink.task.number";

  /** What a sink says about a record that it does not want. */
  public static class RejectedRecordException extends ConnectException {
    private static final long serialVersionUID = 1L;

    public RejectedRecordException(String message) {
      super(message);
    }
  }

  private List<Rule> rules;
  private ErrantRecordReporter reporter;
  private FileChannel output;
  private int busyPuts;

  @Override
  public void start(Map<String, String> props) {
    rules = Rule.list(props.getOrDefault(SandboxSinkConnector.REJECT, "")).stream().map(Rule::byName).toList();
    reporter = context.errantRecordReporter();
    busyPuts = Integer.parseInt(props.getOrDefault(SandboxSinkConnector.BUSY_PUTS, "0"));
    Path folder = Path.of(props.get(SandboxSinkConnector.OUTPUT_DIR));
    try {
      Files.createDirectories(folder);
      Path file = folder.resolve(props.get("name") + "-" + props.get(TASK_NUMBER) + ".ndjson");
      output = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new ConnectException("cannot write to " + folder, e);
    }
  }

  @Override
  public void put(Collection<SinkRecord> records) {
    StringBuilder lines = new StringBuilder();
    for (SinkRecord record : records) {
      Throwable refusal = refusalOf(record);
      if (refusal == null) lines.append(ArchiveLine.text(line(record))).append('\n');
      else if (reporter == null) throw new ConnectException("record refused and no reporter configured", refusal);
      else reporter.report(record, refusal);
    }
    if (!records.isEmpty() && busyPuts > 0) {
      busyPuts--;
      context.timeout(50);
      throw new RetriableException("the sink is busy");
    }
    if (lines.length() == 0) return;
    try {
      ByteBuffer bytes = ByteBuffer.wrap(lines.toString().getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) output.write(bytes);
      output.force(false);
    } catch (IOException e) {
      throw new ConnectException("cannot write", e);
    }
  }

  private Throwable refusalOf(SinkRecord record) {
    for (Rule rule : rules) {
      Throwable refusal = rule.check(record);
      if (refusal != null) return refusal;
    }
    return null;
  }

  /** Place, key, value and headers as the sink got them: bytes as base64, everything else as the converter made it. */
  private static ObjectNode line(SinkRecord record) {
    ObjectNode line = ArchiveLine.JSON.createObjectNode();
    line.put("topic", record.originalTopic());
    line.put("partition", record.originalKafkaPartition());
    line.put("offset", Long.toString(record.originalKafkaOffset()));
    line.put("timestamp", record.timestamp() == null ? null : Long.toString(record.timestamp()));
    line.set("key", data(record.key()));
    line.set("value", data(record.value()));
    ArrayNode headers = line.putArray("headers");
    for (Header header : record.headers()) headers.addArray().add(header.key()).add(data(header.value()));
    return line;
  }

  private static JsonNode data(Object value) {
    return value instanceof byte[] bytes ? ArchiveLine.bytes(bytes) : ArchiveLine.JSON.valueToTree(value);
  }

  @Override
  public void stop() {
    if (output == null) return;
    try {
      output.close();
    } catch (IOException e) {
      throw new ConnectException("cannot close", e);
    }
  }

  @Override
  public String version() {
    return "1.0.0";
  }
}
