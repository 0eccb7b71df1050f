package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
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

    /**
     * The coordinator gets no such bytes, but as much: names of topics and owned partitions of each member. It counts
     * the subscribers of each topic, too (ModernGroup).
     */
    @Override
    public Bench.Prepared fromBytes() {
        Map<String, ByteBuffer> sent = members.specifications(member -> ConsumerProtocol.serializeSubscription(
                new Subscription(member.topics(), null, member.ownedOrNone())));
        return () -> {
            Map<String, MemberSubscriptionAndAssignmentImpl> specifications = new HashMap<>();
            Map<String, Integer> subscribers = new HashMap<>();
            Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
            sent.forEach((memberId, bytes) -> {
                Subscription subscription = ConsumerProtocol.deserializeSubscription(bytes.duplicate());
                Set<String> subscribed = new HashSet<>(subscription.topics());
                subscribed.forEach(topic -> subscribers.merge(topic, 1, Integer::sum));
                Map<Uuid, Set<Integer>> owned = new HashMap<>();
                for (TopicPartition partition : subscription.ownedPartitions()) {
                    Uuid id = members.id(partition);
                    owned.computeIfAbsent(id, i -> new HashSet<>()).add(partition.partition());
                    owners.computeIfAbsent(id, i -> new HashMap<>()).put(partition.partition(), memberId);
                }
                specifications.put(memberId, new MemberSubscriptionAndAssignmentImpl(
                        subscription.rackId(),
                        subscription.groupInstanceId(),
                        members.topicIds(subscribed),
                        new Assignment(owned)));
            });
            boolean alike = subscribers.values().stream().allMatch(count -> count == sent.size());
            GroupSpec given = new GroupSpecImpl(
                    specifications, alike ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, owners);
            Map<String, ByteBuffer> answer = new HashMap<>();
            assignor.assign(given, topics).members().forEach((memberId, has) -> answer.put(memberId, written(has)));
            return answer;
        };
    }

    private ByteBuffer written(MemberAssignment has) {
        List<TopicPartition> partitions = new ArrayList<>();
        has.partitions().forEach((id, numbers) ->
                numbers.forEach(number -> partitions.add(new TopicPartition(members.name(id), number))));
        return ConsumerProtocol.serializeAssignment(new ConsumerPartitionAssignor.Assignment(partitions));
    }

    Map<String, List<TopicPartition>> partitions(Object result) {
        Map<String, Map<Uuid, Set<Integer>>> given = new HashMap<>();
        ((GroupAssignment) result).members().forEach((memberId, has) -> given.put(memberId, has.partitions()));
        return members.sorted(given);
    }
}
