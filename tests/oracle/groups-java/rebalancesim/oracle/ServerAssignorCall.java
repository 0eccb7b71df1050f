package rebalancesim.oracle;

import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.LogContext;
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
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * The coordinator's call of an assignor (KIP-848), since Kafka 4.0.
 *
 * <p>Every collection whose order an assignor sees is built as the coordinator builds it: the group's own map of
 * members, and from it the HashMap of specifications; names and owned partitions as they are read from records.
 */
final class ServerAssignorCall implements Bench.Prepared {
    private final ConsumerGroupPartitionAssignor assignor;
    private final SubscribedTopics topics;
    private final List<String> memberIds;
    private final GroupSpec group;

    private ServerAssignorCall(String rule, Case question) {
        assignor = assignor(rule);
        topics = new SubscribedTopics(question);
        memberIds = question.members().stream().map(Case.Member::memberId).toList();
        group = groupSpec(question);
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

    private GroupSpec groupSpec(Case question) {
        TimelineHashMap<String, Case.Member> members =
                new TimelineHashMap<>(new SnapshotRegistry(new LogContext()), 0);
        for (Case.Member member : question.members()) {
            // A member that joins is written twice: its request, and the answer.
            members.put(member.memberId(), member);
            members.put(member.memberId(), member);
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> specs = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        members.forEach((memberId, member) -> specs.put(memberId, specification(member, owners)));
        return new GroupSpecImpl(specs, subscriptionType(question.members()), owners);
    }

    private MemberSubscriptionAndAssignmentImpl specification(
            Case.Member member, Map<Uuid, Map<Integer, String>> owners) {
        // Given all at once, in the order of the list, to a member that had nothing; written, and read again.
        Map<Uuid, Set<Integer>> given = new HashMap<>(0);
        for (TopicPartition partition : member.ownedOrNone()) {
            Uuid id = topics.id(partition.topic());
            given.computeIfAbsent(id, i -> new HashSet<>()).add(partition.partition());
            owners.computeIfAbsent(id, i -> new HashMap<>()).put(partition.partition(), member.memberId());
        }
        Map<Uuid, Set<Integer>> owned = new HashMap<>();
        given.forEach((id, partitions) -> owned.putIfAbsent(id, copy(partitions)));
        // First what the member sent, then what was written of it.
        Set<String> names = copy(copy(member.topics()));
        return new MemberSubscriptionAndAssignmentImpl(
                Optional.ofNullable(member.rack()),
                Optional.ofNullable(member.instanceId()),
                new TopicIdsOfNames(names, topics),
                new Assignment(owned));
    }

    /** The set that {@code new HashSet<>(items)} makes up to Java 18; later ones make smaller tables for 12, 24, .... */
    private static <T> Set<T> copy(Collection<T> items) {
        Set<T> set = new HashSet<>(Math.max((int) (items.size() / .75f) + 1, 16));
        set.addAll(items);
        return set;
    }

    private static SubscriptionType subscriptionType(List<Case.Member> members) {
        Map<String, Integer> subscribers = new HashMap<>();
        for (Case.Member member : members) {
            new HashSet<>(member.topics()).forEach(topic -> subscribers.merge(topic, 1, Integer::sum));
        }
        boolean same = subscribers.values().stream().allMatch(count -> count == members.size());
        return same ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
    }

    @Override
    public Object run() {
        return assignor.assign(group, topics);
    }

    /** What each member has in the end; sets carry no order, so lists are sorted. */
    Map<String, List<TopicPartition>> partitions(Object result) {
        Map<String, MemberAssignment> given = ((GroupAssignment) result).members();
        Map<String, List<TopicPartition>> partitions = new LinkedHashMap<>();
        for (String memberId : memberIds) {
            List<TopicPartition> list = new ArrayList<>();
            if (given.containsKey(memberId)) {
                given.get(memberId).partitions().forEach((id, numbers) ->
                        numbers.forEach(number -> list.add(new TopicPartition(topics.name(id), number))));
            }
            list.sort(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition));
            partitions.put(memberId, list);
        }
        return partitions;
    }

    /** The cluster's topics. Owned topics that are gone have ids as well. */
    private static final class SubscribedTopics implements SubscribedTopicDescriber {
        private final Map<String, Uuid> ids = new HashMap<>();
        private final Map<Uuid, String> names = new HashMap<>();
        private final Map<Uuid, Integer> partitions = new HashMap<>();

        SubscribedTopics(Case question) {
            question.topicIds().forEach((topic, text) -> {
                Uuid id = Uuid.fromString(text);
                ids.put(topic, id);
                names.put(id, topic);
                if (question.topics().containsKey(topic)) {
                    partitions.put(id, question.topics().get(topic));
                }
            });
        }

        Uuid id(String topic) {
            return ids.computeIfAbsent(topic, t -> Uuid.randomUuid());
        }

        String name(Uuid id) {
            return names.get(id);
        }

        boolean exists(Uuid id) {
            return partitions.containsKey(id);
        }

        @Override
        public int numPartitions(Uuid topicId) {
            return partitions.getOrDefault(topicId, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topicId, int partition) {
            return Set.of();
        }
    }

    /** As Kafka's TopicIds: as large as the set of names, with the ids of those that exist, in the order of the names. */
    private static final class TopicIdsOfNames extends AbstractSet<Uuid> {
        private final Set<String> names;
        private final SubscribedTopics topics;

        TopicIdsOfNames(Set<String> names, SubscribedTopics topics) {
            this.names = names;
            this.topics = topics;
        }

        @Override
        public int size() {
            return names.size();
        }

        @Override
        public boolean isEmpty() {
            return names.isEmpty();
        }

        @Override
        public boolean contains(Object id) {
            return topics.exists((Uuid) id) && names.contains(topics.name((Uuid) id));
        }

        @Override
        public Iterator<Uuid> iterator() {
            return names.stream().map(topics.ids::get).filter(id -> id != null && topics.exists(id)).iterator();
        }
    }
}
