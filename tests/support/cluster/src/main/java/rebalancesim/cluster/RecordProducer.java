package rebalancesim.cluster;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends records from standard input with a producer that has only the brokers configured,
 * and prints how many were acknowledged.
 *
 * <p>The arguments are the bootstrap servers, the topic and the number of records. A record is
 * its key and its value, each a length of four bytes, big-endian, and as many bytes; a length of -1
 * is null.
 */
public final class RecordProducer {
    public static void main(String[] args)
        throws IOException, InterruptedException, ExecutionException {
        Properties settings = new Properties();
        settings.setProperty("bootstrap.servers", args[0]);
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in));
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        // Closing the producer flushes it.
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
            settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int left = Integer.parseInt(args[2]); left > 0; left--) {
                sent.add(producer.send(new ProducerRecord<>(args[1], bytes(input), bytes(input))));
            }
        }
        for (Future<RecordMetadata> each : sent) {
            // Throws the error of a record that was not delivered.
            each.get();
        }
        System.out.println(sent.size());
    }

    private static byte[] bytes(DataInputStream input) throws IOException {
        int length = input.readInt();
        return length < 0 ? null : input.readNBytes(length);
    }
}
