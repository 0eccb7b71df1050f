package rebalancesim.oracle;

import java.util.List;
import org.apache.kafka.common.protocol.MessageUtil;

/** The records of any release of 4.x, for types that have classes of their own. It is not asked what it prints. */
final class OffsetsTopicCall {
    private OffsetsTopicCall() {
    }

    static List<OffsetsTopicAnswers.Formatter> formatters() {
        return List.of();
    }

    static byte[] key(OffsetsTopicRecord record) throws Exception {
        return MessageUtil.toCoordinatorTypePrefixedBytes(GeneratedMessages.key(record.type(), record, (short) 0));
    }

    static byte[] value(OffsetsTopicRecord record) throws Exception {
        return GeneratedMessages.value(record.type(), record);
    }
}
