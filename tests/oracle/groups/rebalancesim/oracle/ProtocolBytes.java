package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;

/** The bytes that consumers of this release send and receive, in hexadecimal digits. */
final class ProtocolBytes {
    private ProtocolBytes() {
    }

    /** For each member what it sends, and what a leader sends to it if it gives it all that the member owns. */
    static Map<String, Object> written(Case question) {
        List<Map<String, Object>> members = new ArrayList<>();
        for (Case.Member member : question.members()) {
            ByteBuffer sticky = ProtocolCall.stickyUserData(member);
            Map<String, Object> bytes = new LinkedHashMap<>();
            bytes.put("sticky_user_data", hex(sticky));
            bytes.put("cooperative_user_data", hex(ProtocolCall.cooperativeUserData(member)));
            bytes.put("subscriptions", hex(ProtocolCall.subscriptions(member, null)));
            bytes.put("subscriptions_with_user_data", hex(ProtocolCall.subscriptions(member, sticky)));
            bytes.put("assignments", hex(ProtocolCall.assignments(member, null)));
            bytes.put("assignments_with_user_data", hex(ProtocolCall.assignments(member, sticky)));
            members.add(bytes);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        answer.put("members", members);
        return answer;
    }

    /** What this release makes of bytes. */
    static Map<String, Object> read(Case question) {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(question.bytes()));
        return switch (question.rule()) {
            case "read-subscription" -> ProtocolCall.readSubscription(bytes);
            case "read-assignment" -> assignment(bytes);
            default -> ProtocolCall.readUserData(question.rule().substring("read-".length()), bytes);
        };
    }

    private static Map<String, Object> assignment(ByteBuffer bytes) {
        var read = ConsumerProtocol.deserializeAssignment(bytes);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("partitions", read.partitions());
        answer.put("user_data", hex(read.userData()));
        return answer;
    }

    static String hex(ByteBuffer bytes) {
        if (bytes == null) {
            return null;
        }
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return HexFormat.of().formatHex(copy);
    }

    /** From version 0 up. */
    private static List<String> hex(List<ByteBuffer> versions) {
        return versions.stream().map(ProtocolBytes::hex).toList();
    }
}
