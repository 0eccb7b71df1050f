package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

/** A leader's call of its assignor since Kafka 2.4, with racks since 3.5. */
final class AssignorCall implements Bench.Prepared {
    private final ConsumerPartitionAssignor assignor;
    private final Cluster cluster;
    private final Map<String, Subscription> subscriptions = new HashMap<>();

    private AssignorCall(ConsumerPartitionAssignor assignor, Cluster cluster) {
        this.assignor = assignor;
        this.cluster = cluster;
    }

    static AssignorCall prepare(String rule, Case question) {
        AssignorCall call = new AssignorCall(assignor(rule), Clusters.of(question));
        for (Case.Member member : question.members()) {
            call.subscriptions.put(member.memberId(), subscription(rule, member));
        }
        return call;
    }

    /**
     * A consumer sends its generation whatever the rule. What it owned travels in the user data of eager sticky, whose
     * consumers have given everything back by now, and in the subscription itself of cooperative-sticky.
     */
    private static Subscription subscription(String rule, Case.Member member) {
        ByteBuffer userData = rule.equals("sticky") ? StickyUserData.of(member) : null;
        List<TopicPartition> owned = rule.equals("cooperative-sticky") ? member.ownedOrNone() : List.of();
        Optional<String> rack = Optional.ofNullable(member.rack());
        Subscription subscription =
                new Subscription(member.topics(), userData, owned, member.generationOrNone(), rack);
        subscription.setGroupInstanceId(Optional.ofNullable(member.instanceId()));
        return subscription;
    }

    private static ConsumerPartitionAssignor assignor(String rule) {
        return switch (rule) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new UnsupportedOperationException(
                    "Kafka " + Release.VERSION + " has no rule named " + rule);
        };
    }

    @Override
    public GroupAssignment run() {
        return assignor.assign(cluster, new GroupSubscription(subscriptions));
    }

    /** What a leader does (ConsumerCoordinator.onLeaderElected). */
    @Override
    public Bench.Prepared fromBytes() {
        Map<String, ByteBuffer> sent = new HashMap<>();
        subscriptions.forEach((memberId, subscription) ->
                sent.put(memberId, ConsumerProtocol.serializeSubscription(subscription)));
        return () -> {
            Map<String, Subscription> received = new HashMap<>();
            sent.forEach((memberId, bytes) ->
                    received.put(memberId, ConsumerProtocol.deserializeSubscription(bytes.duplicate())));
            Map<String, ByteBuffer> answer = new HashMap<>();
            assignor.assign(cluster, new GroupSubscription(received)).groupAssignment().forEach((memberId, given) ->
                    answer.put(memberId, ConsumerProtocol.serializeAssignment(given)));
            return answer;
        };
    }

    /** Sticky reads user data by moving the buffer; the next call would find it empty. */
    @Override
    public void rewind() {
        for (Subscription subscription : subscriptions.values()) {
            if (subscription.userData() != null) {
                subscription.userData().rewind();
            }
        }
    }

    static Map<String, List<TopicPartition>> partitions(GroupAssignment result) {
        Map<String, List<TopicPartition>> partitions = new LinkedHashMap<>();
        result.groupAssignment().forEach((memberId, assignment) -> partitions.put(memberId, assignment.partitions()));
        return partitions;
    }
}
