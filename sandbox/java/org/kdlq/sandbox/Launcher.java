package org.kdlq.sandbox;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/**
 * Runs one main class in a process that cannot outlive its parent.
 *
 * <p>Usage: {@code Launcher [--lifeline] [--mbeans PORT] [--format ARG... --] MAIN ARG...}. With {@code --lifeline} the process ends as soon
 * as standard input closes, which the operating system does even when the parent is killed. With {@code --format} the data
 * folder is formatted first by Kafka's own storage tool, in this process: one JVM start fewer. With {@code --mbeans} the MBeans
 * of the process can be read over HTTP.
 */
public final class Launcher {
  private Launcher() {}

  public static void main(String[] args) throws Throwable {
    int next = 0;
    if (next < args.length && args[next].equals("--lifeline")) {
      next++;
      watchParent();
    }
    if (next < args.length && args[next].equals("--mbeans")) {
      MBeanPage.serve(Integer.parseInt(args[next + 1]));
      next += 2;
    }
    if (next < args.length && args[next].equals("--format")) {
      int end = Arrays.asList(args).indexOf("--");
      String[] format = Arrays.copyOfRange(args, next + 1, end);
      int code = kafka.tools.StorageTool.execute(format, System.out);
      if (code != 0) {
        System.err.println("formatting the data folder failed with code " + code);
        System.exit(1);
      }
      next = end + 1;
    }
    Class<?> main = Class.forName(args[next]);
    String[] rest = Arrays.copyOfRange(args, next + 1, args.length);
    try {
      main.getMethod("main", String[].class).invoke(null, (Object) rest);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  static void watchParent() {
    Thread watcher = new Thread(() -> {
      try {
        while (System.in.read() != -1) {
          // Nobody writes here; only the end of the stream counts.
        }
      } catch (IOException e) {
        // A broken pipe says the same as its end.
      }
      Runtime.getRuntime().halt(143);
    }, "parent-watcher");
    watcher.setDaemon(true);
    watcher.start();
  }
}
