package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Subscription;

/** A consumer's calls of its protocol before Kafka 2.4: version 0 alone, and no cooperative-sticky. */
final class ProtocolCall {
    private ProtocolCall() {
    }

    static List<ByteBuffer> subscriptions(Case.Member member, ByteBuffer userData) {
        return List.of(ConsumerProtocol.serializeSubscription(new Subscription(member.topics(), userData)));
    }

    static List<ByteBuffer> assignments(Case.Member member, ByteBuffer userData) {
        return List.of(ConsumerProtocol.serializeAssignment(new Assignment(member.ownedOrNone(), userData)));
    }

    static ByteBuffer stickyUserData(Case.Member member) {
        StickyAssignor assignor = new StickyAssignor();
        Assignment last = new Assignment(member.ownedOrNone());
        if (Release.isBefore(2, 3)) {
            assignor.onAssignment(last);
        } else {
            Reflected.call(assignor, "onAssignment", last, member.generationOrNone());
        }
        return assignor.subscription(new LinkedHashSet<>(member.topics())).userData();
    }

    static ByteBuffer cooperativeUserData(Case.Member member) {
        return null;
    }

    static Map<String, Object> readSubscription(ByteBuffer bytes) {
        Subscription read = ConsumerProtocol.deserializeSubscription(bytes);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("topics", read.topics());
        answer.put("user_data", ProtocolBytes.hex(read.userData()));
        return answer;
    }

    /** The classes of these releases read user data where nobody can look. */
    static Map<String, Object> readUserData(String rule, ByteBuffer bytes) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " does not show its reading of " + rule);
    }
}
