package rebalancesim.oracle;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** The coordinator's call of an assignor (KIP-848), since Kafka 4.0. */
final class ServerAssignorCall implements Bench.Prepared {
    private final ConsumerGroupPartitionAssignor assignor;
    private final ServerGroup members;
    private final GroupSpec group;
    private final SubscribedTopicDescriber topics;

    private ServerAssignorCall(String rule, Case question) {
        assignor = assignor(rule);
        members = new ServerGroup(question);
        group = new GroupSpecImpl(
                members.specifications(this::specification),
                members.isHomogeneous() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS,
                members.owners());
        topics = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topicId) {
                return members.numPartitions(topicId);
            }

            @Override
            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return members.racksForPartition(topicId, partition);
            }
        };
    }

    static ServerAssignorCall prepare(String rule, Case question) {
        return new ServerAssignorCall(rule, question);
    }

    private static ConsumerGroupPartitionAssignor assignor(String rule) {
        return switch (rule) {
            case "server-range" -> new RangeAssignor();
            case "server-uniform" -> new UniformAssignor();
            default -> throw new UnsupportedOperationException(
                    "Kafka " + Release.VERSION + " has no rule named " + rule);
        };
    }

    private MemberSubscriptionAndAssignmentImpl specification(Case.Member member) {
        return new MemberSubscriptionAndAssignmentImpl(
                Optional.ofNullable(member.rack()),
                Optional.ofNullable(member.instanceId()),
                members.subscribedTopicIds(member),
                new Assignment(members.target(member)));
    }

    @Override
    public Object run() {
        return assignor.assign(group, topics);
    }

    Map<String, List<TopicPartition>> partitions(Object result) {
        Map<String, Map<Uuid, Set<Integer>>> given = new HashMap<>();
        ((GroupAssignment) result).members().forEach((memberId, has) -> given.put(memberId, has.partitions()));
        return members.sorted(given);
    }
}
