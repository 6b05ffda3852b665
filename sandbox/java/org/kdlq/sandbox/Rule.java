package org.kdlq.sandbox;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkRecord;

/** Why the sandbox's sink refuses a record. Each rule fails in its own way, like the client libraries of real sinks do. */
enum Rule {
  /** A domain exception with a message. */
  NEGATIVE_AMOUNT {
    @Override
    Throwable check(SinkRecord record) {
      Object amount = field(record, "amount");
      if (!(amount instanceof Number number) || number.doubleValue() >= 0) return null;
      return new SandboxSinkTask.RejectedRecordException("amount " + number + " of " + field(record, "id") + " is negative");
    }
  },
  /** A chain of causes and a suppressed exception, as a database driver makes them. */
  DUPLICATE_ID {
    @Override
    Throwable check(SinkRecord record) {
      if (!Boolean.TRUE.equals(field(record, "duplicate"))) return null;
      java.sql.SQLException driver =
          new java.sql.SQLException("duplicate key value violates unique constraint \"pk\"\nDetail: (id)=("
              + field(record, "id") + ") already exists", "23505");
      ConnectException failure = new ConnectException("insert failed", driver);
      failure.addSuppressed(new IllegalStateException("rollback failed"));
      return failure;
    }
  },
  /** No message at all. */
  NO_CUSTOMER {
    @Override
    Throwable check(SinkRecord record) {
      return record.value() instanceof Map<?, ?> map && map.containsKey("customer") && map.get("customer") == null
          ? new NullPointerException()
          : null;
    }
  },
  UNKNOWN_CURRENCY {
    @Override
    Throwable check(SinkRecord record) {
      Object currency = field(record, "currency");
      if (currency == null || Set.of("EUR", "GBP", "USD").contains(currency)) return null;
      return new DataException("unknown currency " + currency);
    }
  },
  /** The task tried again on its own and gave up. */
  GATEWAY_TIMEOUT {
    @Override
    Throwable check(SinkRecord record) {
      if (!"slow".equals(field(record, "gateway"))) return null;
      TimeoutException last = new TimeoutException("no answer within 200 ms");
      return new RetriableException("gateway failed 3 times for " + field(record, "id"), last);
    }
  },
  /** Refuses a value of no bytes at all, which only a sink without a JSON converter sees. */
  EMPTY_VALUE {
    @Override
    Throwable check(SinkRecord record) {
      return record.value() instanceof byte[] bytes && bytes.length == 0
          ? new SandboxSinkTask.RejectedRecordException("")
          : null;
    }
  },
  /** Whatever the value is. */
  ALL {
    @Override
    Throwable check(SinkRecord record) {
      return new SandboxSinkTask.RejectedRecordException("the sink is closed for maintenance");
    }
  };

  /** @return why the record is refused; null when it is fine */
  abstract Throwable check(SinkRecord record);

  static Object field(SinkRecord record, String name) {
    return record.value() instanceof Map<?, ?> map ? map.get(name) : null;
  }

  static Rule byName(String name) {
    return valueOf(name.toUpperCase(java.util.Locale.ROOT).replace('-', '_'));
  }

  static List<String> list(String text) {
    return Arrays.stream(text.split(",")).map(String::trim).filter(name -> !name.isEmpty()).toList();
  }

  static String names() {
    return Arrays.stream(values()).map(rule -> rule.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-'))
        .collect(Collectors.joining(", "));
  }
}
