package rebalancesim.programs;

import java.io.IOException;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;

/**
 * Reads a topic with Kafka Streams, with two threads, until the end of standard input.
 *
 * <p>The arguments are the bootstrap servers, the application.id, the topic and a directory.
 */
public final class StreamsApplication {
    public static void main(String[] args) throws IOException {
        Properties settings = new Properties();
        settings.setProperty(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.setProperty(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        settings.setProperty(StreamsConfig.STATE_DIR_CONFIG, args[3]);
        settings.setProperty(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[2], Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
            .foreach((key, value) -> { });
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
            streams.start();
            System.in.transferTo(java.io.OutputStream.nullOutputStream());
        }
    }
}
