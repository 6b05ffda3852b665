package org.kdlq.sandbox.frameworks;

import java.nio.charset.StandardCharsets;

/** Which records fail, and how: the same for every framework, changed while they run. */
final class Faults {
  /** {@code FAILING}: poison fails; {@code AGAIN}: it fails with another exception; {@code HEALED}: everything passes. */
  enum Mode { FAILING, AGAIN, HEALED }

  static volatile Mode mode = Mode.FAILING;

  private Faults() {}

  /** An exception for values that hold the word {@code poison}. */
  static void check(byte[] value) {
    if (mode == Mode.HEALED || !text(value).contains("poison")) return;
    if (mode == Mode.AGAIN) throw new IllegalStateException("ledger 7 is closed");
    throw new IllegalArgumentException("amount must not be negative: -5");
  }

  /** True when the deserializer accepts a value. */
  static boolean isReadable(byte[] value) {
    return mode == Mode.HEALED || value == null || text(value).startsWith("{");
  }

  private static String text(byte[] value) {
    return value == null ? "" : new String(value, StandardCharsets.UTF_8);
  }
}
