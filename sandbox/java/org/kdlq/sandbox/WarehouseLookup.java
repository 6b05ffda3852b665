package org.kdlq.sandbox;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * A transformation that adds a field {@code warehouse} by the field {@code sku} and fails like one that asks a service: for good
 * when there is no answer ({@code X-...}), retriably when the service is down ({@code D-...}; for so many attempts as are
 * configured, or always), with an ordinary Java exception when the data are not what it expects.
 */
public class WarehouseLookup<R extends ConnectRecord<R>> implements Transformation<R> {
  static final String LENIENT = "lenient";

  static final String DOWN_ATTEMPTS = "down.attempts";

  private boolean lenient;
  private int downAttempts;
  private int failedAttempts;

  @Override
  public void configure(Map<String, ?> configs) {
    lenient = Boolean.parseBoolean(String.valueOf(configs.get(LENIENT)));
    Object attempts = configs.get(DOWN_ATTEMPTS);
    downAttempts = attempts == null ? Integer.MAX_VALUE : Integer.parseInt(String.valueOf(attempts));
  }

  @Override
  public R apply(R record) {
    if (!(record.value() instanceof Map<?, ?> value)) return record;
    Map<Object, Object> updated = new HashMap<>(value);
    updated.put("warehouse", lenient ? "any" : warehouseOf(String.valueOf(value.get("sku"))));
    return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(), null, updated,
        record.timestamp());
  }

  private String warehouseOf(String sku) {
    if (sku.startsWith("X-")) throw new DataException("no warehouse holds " + sku);
    if (sku.startsWith("D-")) {
      if (failedAttempts++ < downAttempts) throw new RetriableException("lookup of " + sku + " failed");
      failedAttempts = 0;
    }
    return "wh-" + Integer.parseInt(sku.substring(sku.indexOf('-') + 1)) % 3;
  }

  @Override
  public ConfigDef config() {
    return new ConfigDef().define(LENIENT, ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.MEDIUM,
        "Every sku is known: the fault is removed.")
        .define(DOWN_ATTEMPTS, ConfigDef.Type.INT, Integer.MAX_VALUE, ConfigDef.Importance.MEDIUM,
            "How many attempts fail before the service is up again for one record.");
  }

  @Override
  public void close() {}
}
