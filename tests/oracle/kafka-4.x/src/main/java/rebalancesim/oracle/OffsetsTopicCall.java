package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.kafka.common.protocol.MessageUtil;

/** The records of any release since 4.1, whose types have classes of their own. It is not asked what it prints. */
final class OffsetsTopicCall {
    private OffsetsTopicCall() {
    }

    static List<OffsetsTopicAnswers.Formatter> formatters() {
        return List.of();
    }

    /** A key begins with its type where a value has its version. 4.0 has no call for that. */
    static byte[] key(OffsetsTopicRecord record) throws Exception {
        byte[] key = MessageUtil.toVersionPrefixedBytes(
                (short) 0, GeneratedMessages.key(record.type(), record, (short) 0));
        ByteBuffer.wrap(key).putShort(record.keyVersion());
        return key;
    }

    static byte[] value(OffsetsTopicRecord record) throws Exception {
        return GeneratedMessages.value(record.type(), record);
    }
}
