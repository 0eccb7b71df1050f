package rebalancesim.oracle;

import java.io.PrintStream;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;

/** The records of 4.3, whose types have classes of their own: the offset commits of old keys are "legacy". */
final class OffsetsTopicCall {
    private OffsetsTopicCall() {
    }

    interface Formatter {
        void writeTo(ConsumerRecord<byte[], byte[]> record, PrintStream out);
    }

    static List<Formatter> formatters() {
        return List.of(new OffsetsMessageFormatter()::writeTo, new GroupMetadataMessageFormatter()::writeTo);
    }

    static byte[] key(OffsetsTopicRecord record) throws Exception {
        return MessageUtil.toCoordinatorTypePrefixedBytes(
                GeneratedMessages.of(type(record) + "Key", record.key(), (short) 0));
    }

    static byte[] value(OffsetsTopicRecord record) throws Exception {
        short version = record.valueVersion();
        return MessageUtil.toVersionPrefixedBytes(
                version, GeneratedMessages.of(type(record) + "Value", record.value(), version));
    }

    private static String type(OffsetsTopicRecord record) {
        return record.type().equals("OffsetCommit") && record.keyVersion() == 0 ? "LegacyOffsetCommit" : record.type();
    }
}
