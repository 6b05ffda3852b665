package org.kdlq.sandbox.frameworks;

import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;

/** Hands the bytes on, or fails where they do not begin as a JSON object does: what is processed can be compared whole. */
public final class StrictDeserializer implements Deserializer<byte[]> {
  @Override
  public byte[] deserialize(String topic, byte[] data) {
    if (Faults.isReadable(data)) return data;
    throw new SerializationException(
        Faults.mode == Faults.Mode.AGAIN ? "still not an object" : "not an object: byte 0 is " + data[0]);
  }
}
