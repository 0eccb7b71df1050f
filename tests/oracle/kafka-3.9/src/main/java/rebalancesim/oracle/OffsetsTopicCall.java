package rebalancesim.oracle;

import java.util.List;
import kafka.coordinator.group.GroupMetadataManager;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;

/** The records of 3.9: the version of a key is its type. It brings the formatters of 3.8 in Scala, and new ones. */
final class OffsetsTopicCall {
    private OffsetsTopicCall() {
    }

    static List<OffsetsTopicAnswers.Formatter> formatters() {
        return List.of(
                new GroupMetadataManager.OffsetsMessageFormatter()::writeTo,
                new GroupMetadataManager.GroupMetadataMessageFormatter()::writeTo,
                new OffsetsMessageFormatter()::writeTo,
                new GroupMetadataMessageFormatter()::writeTo);
    }

    static byte[] key(OffsetsTopicRecord record) throws Exception {
        short version = record.keyVersion();
        return MessageUtil.toVersionPrefixedBytes(version, GeneratedMessages.key(record.type(), record, version));
    }

    static byte[] value(OffsetsTopicRecord record) throws Exception {
        return GeneratedMessages.value(record.type(), record);
    }
}
