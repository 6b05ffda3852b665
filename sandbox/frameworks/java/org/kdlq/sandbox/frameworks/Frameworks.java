package org.kdlq.sandbox.frameworks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Spring Kafka, Kafka Streams and a share consumer in one process, each failing on poison and writing dead letters of its
 * own kind.
 *
 * <p>Standard input takes a word a line: {@code failing}, {@code again} or {@code healed} ({@link Faults.Mode}), each
 * answered by an event of that name once it holds. The process ends with its input.
 */
public final class Frameworks {
  private Frameworks() {}

  public static void main(String[] args) {
    String bootstrapServers = args[0];
    Events.say("starting");
    // What a library prints must not mix with the events.
    System.setOut(System.err);
    Thread commands = new Thread(Frameworks::takeCommands, "commands");
    commands.setDaemon(true);
    commands.start();
    try {
      Topics.create(bootstrapServers);
      Thread streams = new Thread(() -> StreamsApp.start(bootstrapServers), "streams");
      streams.start();
      Thread share = new Thread(() -> ShareApp.run(bootstrapServers), "share");
      share.start();
      SpringApp.start(bootstrapServers);
      streams.join();
    } catch (Exception e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
    Events.say("ready");
  }

  private static void takeCommands() {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Faults.mode = Faults.Mode.valueOf(line.toUpperCase(Locale.ROOT));
        Events.say(line);
      }
    } catch (IOException e) {
      // A broken pipe says the same as its end.
    }
    Runtime.getRuntime().halt(0);
  }
}
