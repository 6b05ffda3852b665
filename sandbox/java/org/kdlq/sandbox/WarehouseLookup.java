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
 * when there is no answer ({@code X-...}), retriably when the service is down ({@code D-...}), with an ordinary Java exception
 * when the data are not what it expects.
 */
public class WarehouseLookup<R extends ConnectRecord<R>> implements Transformation<R> {
  static final String LENIENT = "lenient";

  private boolean lenient;

  @Override
  public void configure(Map<String, ?> configs) {
    lenient = Boolean.parseBoolean(String.valueOf(configs.get(LENIENT)));
  }

  @Override
  public R apply(R record) {
    if (!(record.value() instanceof Map<?, ?> value)) return record;
    Map<Object, Object> updated = new HashMap<>(value);
    updated.put("warehouse", lenient ? "any" : warehouseOf(String.valueOf(value.get("sku"))));
    return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(), null, updated,
        record.timestamp());
  }

  private static String warehouseOf(String sku) {
    if (sku.startsWith("X-")) throw new DataException("no warehouse holds " + sku);
    if (sku.startsWith("D-")) throw new RetriableException("lookup of " + sku + " failed");
    return "wh-" + Integer.parseInt(sku.substring(sku.indexOf('-') + 1)) % 3;
  }

  @Override
  public ConfigDef config() {
    return new ConfigDef().define(LENIENT, ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.MEDIUM,
        "Every sku is known: the fault is removed.");
  }

  @Override
  public void close() {}
}
