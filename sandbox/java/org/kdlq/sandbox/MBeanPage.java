package org.kdlq.sandbox;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** MBeans of this process as JSON: {@code GET /?PATTERN} answers name, then attribute, then value. */
final class MBeanPage {
  private MBeanPage() {}

  static void serve(int port) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext("/", exchange -> {
      byte[] body;
      int status = 200;
      try {
        body = ArchiveLine.text(read(exchange.getRequestURI().getQuery())).getBytes(StandardCharsets.UTF_8);
      } catch (JMException | RuntimeException e) {
        status = 500;
        body = String.valueOf(e).getBytes(StandardCharsets.UTF_8);
      }
      exchange.sendResponseHeaders(status, body.length);
      try (OutputStream out = exchange.getResponseBody()) {
        out.write(body);
      }
    });
    server.start();
  }

  private static ObjectNode read(String pattern) throws JMException {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    ObjectNode all = ArchiveLine.JSON.createObjectNode();
    for (ObjectName name : beans.queryNames(new ObjectName(pattern), null)) {
      ObjectNode attributes = all.putObject(name.getCanonicalName());
      for (MBeanAttributeInfo attribute : beans.getMBeanInfo(name).getAttributes()) {
        attributes.set(attribute.getName(), ArchiveLine.JSON.valueToTree(beans.getAttribute(name, attribute.getName())));
      }
    }
    return all;
  }
}
