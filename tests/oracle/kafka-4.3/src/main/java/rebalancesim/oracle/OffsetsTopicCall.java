package rebalancesim.oracle;

import java.util.List;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;

/** The records of 4.3, whose types have classes of their own: the offset commits of old keys are "legacy". */
final class OffsetsTopicCall {
    private OffsetsTopicCall() {
    }

    static List<OffsetsTopicAnswers.Formatter> formatters() {
        return List.of(new OffsetsMessageFormatter()::writeTo, new GroupMetadataMessageFormatter()::writeTo);
    }

    static byte[] key(OffsetsTopicRecord record) throws Exception {
        return MessageUtil.toCoordinatorTypePrefixedBytes(GeneratedMessages.key(type(record), record, (short) 0));
    }

    static byte[] value(OffsetsTopicRecord record) throws Exception {
        return GeneratedMessages.value(type(record), record);
    }

    private static String type(OffsetsTopicRecord record) {
        return record.type().equals("OffsetCommit") && record.keyVersion() == 0 ? "LegacyOffsetCommit" : record.type();
    }
}
