package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

/** A leader's call of its assignor before Kafka 2.4: instance ids and racks do not reach the assignor yet. */
final class AssignorCall implements Bench.Prepared {
    private final PartitionAssignor assignor;
    private final Cluster cluster;
    private final Map<String, Subscription> subscriptions = new HashMap<>();

    private AssignorCall(PartitionAssignor assignor, Cluster cluster) {
        this.assignor = assignor;
        this.cluster = cluster;
    }

    static AssignorCall prepare(String rule, Case question) {
        AssignorCall call = new AssignorCall(assignor(rule), Clusters.of(question));
        for (Case.Member member : question.members()) {
            ByteBuffer userData = rule.equals("sticky") ? StickyUserData.of(member) : null;
            call.subscriptions.put(member.memberId(), new Subscription(member.topics(), userData));
        }
        return call;
    }

    private static PartitionAssignor assignor(String rule) {
        return switch (rule) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            default -> throw new UnsupportedOperationException(
                    "Kafka " + Release.VERSION + " has no rule named " + rule);
        };
    }

    @Override
    public Map<String, Assignment> run() {
        return assignor.assign(cluster, subscriptions);
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

    static Map<String, List<TopicPartition>> partitions(Map<String, Assignment> result) {
        Map<String, List<TopicPartition>> partitions = new LinkedHashMap<>();
        result.forEach((memberId, assignment) -> partitions.put(memberId, assignment.partitions()));
        return partitions;
    }
}
