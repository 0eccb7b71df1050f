package rebalancesim.oracle;

import java.io.PrintStream;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** This release is asked about assignors alone. */
final class OffsetsTopicCall {
    private OffsetsTopicCall() {
    }

    interface Formatter {
        void writeTo(ConsumerRecord<byte[], byte[]> record, PrintStream out);
    }

    static List<Formatter> formatters() {
        return List.of();
    }

    static byte[] key(OffsetsTopicRecord record) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " is not asked about the offsets topic");
    }

    static byte[] value(OffsetsTopicRecord record) {
        throw new IllegalStateException();
    }
}
