package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor.MemberData;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;

/** A consumer's calls of its protocol since Kafka 3.4, with all four versions of it. */
final class ProtocolCall {
    private static final short NEWEST = 3;

    private ProtocolCall() {
    }

    static List<ByteBuffer> subscriptions(Case.Member member, ByteBuffer userData) {
        Subscription subscription = new Subscription(
                member.topics(),
                userData,
                member.ownedOrNone(),
                member.generationOrNone(),
                Optional.ofNullable(member.rack()));
        List<ByteBuffer> versions = new ArrayList<>();
        for (short version = 0; version <= NEWEST; version++) {
            versions.add(ConsumerProtocol.serializeSubscription(subscription, version));
        }
        return versions;
    }

    static List<ByteBuffer> assignments(Case.Member member, ByteBuffer userData) {
        Assignment assignment = new Assignment(member.ownedOrNone(), userData);
        List<ByteBuffer> versions = new ArrayList<>();
        for (short version = 0; version <= NEWEST; version++) {
            versions.add(ConsumerProtocol.serializeAssignment(assignment, version));
        }
        return versions;
    }

    static ByteBuffer stickyUserData(Case.Member member) {
        return userData(new StickyAssignor(), member);
    }

    static ByteBuffer cooperativeUserData(Case.Member member) {
        return userData(new CooperativeStickyAssignor(), member);
    }

    private static ByteBuffer userData(ConsumerPartitionAssignor assignor, Case.Member member) {
        ConsumerGroupMetadata group = new ConsumerGroupMetadata(
                "oracle", member.generationOrNone(), member.memberId(), Optional.ofNullable(member.instanceId()));
        assignor.onAssignment(new Assignment(member.ownedOrNone()), group);
        return assignor.subscriptionUserData(new LinkedHashSet<>(member.topics()));
    }

    static Map<String, Object> readSubscription(ByteBuffer bytes) {
        Subscription read = ConsumerProtocol.deserializeSubscription(bytes);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("topics", read.topics());
        answer.put("user_data", ProtocolBytes.hex(read.userData()));
        answer.put("owned", read.ownedPartitions());
        answer.put("generation", read.generationId().orElse(null));
        answer.put("rack", read.rackId().orElse(null));
        return answer;
    }

    /** What the assignor takes from the bytes of a whole subscription. */
    static Map<String, Object> readUserData(String rule, ByteBuffer bytes) {
        Subscription subscription = ConsumerProtocol.deserializeSubscription(bytes);
        MemberData read = rule.equals("sticky")
                ? new Sticky().memberData(subscription)
                : new CooperativeSticky().memberData(subscription);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("owned", read.partitions);
        answer.put("generation", read.generation.orElse(null));
        return answer;
    }

    /** Shows what subclasses may see. */
    private static final class Sticky extends StickyAssignor {
        @Override
        protected MemberData memberData(Subscription subscription) {
            return super.memberData(subscription);
        }
    }

    private static final class CooperativeSticky extends CooperativeStickyAssignor {
        @Override
        protected MemberData memberData(Subscription subscription) {
            return super.memberData(subscription);
        }
    }
}
