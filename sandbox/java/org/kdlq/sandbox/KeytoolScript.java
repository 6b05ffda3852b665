package org.kdlq.sandbox;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Runs many keytool commands in one process: one JSON array of arguments a line on standard input. One command is ours, because
 * keytool cannot do it: {@code ["pem-key", STORE, PASSWORD, ALIAS, FILE]} writes a private key as PEM. Needs
 * {@code --add-exports java.base/sun.security.tools.keytool=ALL-UNNAMED}. A failing command ends the process with code 1.
 */
public final class KeytoolScript {
  private KeytoolScript() {}

  public static void main(String[] args) throws Exception {
    Method keytool = Class.forName("sun.security.tools.keytool.Main").getMethod("main", String[].class);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      List<String> command = new ArrayList<>();
      for (JsonNode argument : ArchiveLine.JSON.readTree(line)) command.add(argument.asText());
      if (command.get(0).equals("pem-key")) writeKey(command);
      else keytool.invoke(null, (Object) command.toArray(new String[0]));
    }
  }

  private static void writeKey(List<String> command) throws Exception {
    char[] password = command.get(2).toCharArray();
    KeyStore store = KeyStore.getInstance(new File(command.get(1)), password);
    byte[] key = store.getKey(command.get(3), password).getEncoded();
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(key);
    String pem = "-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----\n";
    Files.writeString(Path.of(command.get(4)), pem);
  }
}
