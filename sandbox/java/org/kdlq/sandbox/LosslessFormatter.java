package org.kdlq.sandbox;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;

/** Lets Kafka's own console consumer print whole records ({@code --formatter}); its built-in one loses nulls and bytes. */
public final class LosslessFormatter implements MessageFormatter {
  @Override
  public void writeTo(ConsumerRecord<byte[], byte[]> record, PrintStream output) {
    byte[] line = (ArchiveLine.text(ArchiveLine.write(record)) + "\n").getBytes(StandardCharsets.UTF_8);
    output.write(line, 0, line.length);
  }
}
