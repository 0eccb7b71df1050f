package rebalancesim.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/**
 * Runs real Kafka consumers, each on its own thread, controlled by commands on standard input.
 *
 * <p>Commands and reports are lines of tab-separated fields; NAME is the caller's own name for a
 * consumer, because a client.id need not be unique.
 *
 * <pre>
 *   start   NAME  KEY=VALUE ...   begin; the keys are Kafka's consumer settings, and also
 *                                 "topics" (a,b,c) and "commit" (never, once, always)
 *   stall   NAME                  stop polling; heartbeats continue, as in a consumer whose processing hangs
 *   resume  NAME                  poll again
 *   subscribe  NAME  a,b,c        subscribe to other topics with the next poll
 *   close   NAME                  leave the group and end, without waiting for it
 *   exit                          close all consumers and exit, as at the end of the input
 * </pre>
 *
 * The reports are described in {@link PollingConsumer}.
 */
public final class Consumers {
    private final Map<String, PollingConsumer> running = new HashMap<>();

    public static void main(String[] args) throws IOException, InterruptedException {
        new Consumers().obey(new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8)));
    }

    private void obey(BufferedReader orders) throws IOException, InterruptedException {
        String line = orders.readLine();
        while (line != null && !line.equals("exit")) {
            obey(line.split("\t"));
            line = orders.readLine();
        }
        // Close all of them at once: a close can take as long as a rebalance.
        running.values().forEach(PollingConsumer::close);
        for (PollingConsumer consumer : running.values()) {
            consumer.join();
        }
    }

    private void obey(String[] fields) {
        String name = fields[1];
        switch (fields[0]) {
            case "start" -> start(name, settings(fields));
            case "stall" -> running.get(name).setStalled(true);
            case "resume" -> running.get(name).setStalled(false);
            case "subscribe" -> running.get(name).subscribe(fields[2]);
            case "close" -> running.remove(name).close();
            default -> throw new IllegalArgumentException("unknown order: " + fields[0]);
        }
    }

    private void start(String name, Properties settings) {
        PollingConsumer consumer = new PollingConsumer(name, settings);
        running.put(name, consumer);
        consumer.start();
    }

    private static Properties settings(String[] fields) {
        Properties settings = new Properties();
        for (int i = 2; i < fields.length; i++) {
            int split = fields[i].indexOf('=');
            settings.setProperty(fields[i].substring(0, split), fields[i].substring(split + 1));
        }
        return settings;
    }
}
