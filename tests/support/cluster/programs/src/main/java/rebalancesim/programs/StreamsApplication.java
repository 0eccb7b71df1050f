package rebalancesim.programs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.LagInfo;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;

/**
 * Reads a topic with Kafka Streams until the end of standard input.
 *
 * <p>The arguments are the bootstrap servers, the application.id, the topic and a directory. It has two threads then, or,
 * if a group.protocol follows, one thread and two subtopologies, the second of which counts records by key in a store. The
 * number of standby replicas may follow, and then the group.instance.id. Once a second it prints how many records its
 * copies of the store lack.
 * Beside the directory it writes topology.txt, the description of its topology.
 */
public final class StreamsApplication {
    public static void main(String[] args) throws IOException {
        Properties settings = new Properties();
        settings.setProperty(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.setProperty(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        settings.setProperty(StreamsConfig.STATE_DIR_CONFIG, args[3]);
        settings.setProperty(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        StreamsBuilder builder = new StreamsBuilder();
        KStream<byte[], byte[]> records = builder.stream(args[2], Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()));
        if (args.length > 4) {
            settings.setProperty("group.protocol", args[4]);
            settings.setProperty(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "1");
            settings.setProperty(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, args.length > 5 ? args[5] : "0");
            if (args.length > 6) {
                settings.setProperty("group.instance.id", args[6]);
            }
            records.selectKey((key, value) -> value)
                .groupByKey(Grouped.with("by-value", Serdes.ByteArray(), Serdes.ByteArray())).count();
        } else {
            records.foreach((key, value) -> { });
        }
        Topology topology = builder.build();
        Files.writeString(Path.of(args[3]).resolveSibling("topology.txt"), topology.describe().toString());
        try (KafkaStreams streams = new KafkaStreams(topology, settings)) {
            streams.start();
            Thread reporter = new Thread(() -> report(streams));
            reporter.setDaemon(true);
            reporter.start();
            System.in.transferTo(java.io.OutputStream.nullOutputStream());
        }
    }

    private static void report(KafkaStreams streams) {
        try {
            while (true) {
                Thread.sleep(1000);
                System.out.println("lacks " + streams.allLocalStorePartitionLags().values().stream()
                    .flatMap(partitions -> partitions.values().stream()).mapToLong(LagInfo::offsetLag).sum());
            }
        } catch (InterruptedException | IllegalStateException closed) {
            Thread.currentThread().interrupt();
        }
    }
}
