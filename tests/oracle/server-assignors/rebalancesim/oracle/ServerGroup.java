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
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * The group of a case as the coordinator knows it (KIP-848).
 *
 * <p>Every collection whose order an assignor sees is built as the coordinator builds it: the group's own map of
 * members, and from it the HashMap of specifications; names and owned partitions as they are read from records.
 */
final class ServerGroup {
    private final Case question;
    private final Map<String, Uuid> ids = new HashMap<>();
    private final Map<Uuid, String> names = new HashMap<>();
    private final Map<Uuid, Integer> partitions = new HashMap<>();

    /** Owned topics that are gone have ids as well. */
    ServerGroup(Case question) {
        this.question = question;
        question.topicIds().forEach((topic, text) -> {
            Uuid id = Uuid.fromString(text);
            ids.put(topic, id);
            names.put(id, topic);
            if (question.topics().containsKey(topic)) {
                partitions.put(id, question.topics().get(topic));
            }
        });
    }

    int numPartitions(Uuid topicId) {
        return partitions.getOrDefault(topicId, -1);
    }

    Set<String> racksForPartition(Uuid topicId, int partition) {
        List<String> racks = question.racksOf(new TopicPartition(names.get(topicId), partition));
        return copy(racks.stream().filter(Objects::nonNull).toList());
    }

    /** The specifications of all members, which the coordinator makes in the order of its own map. */
    <T> Map<String, T> specifications(Function<Case.Member, T> specification) {
        Map<String, T> specifications = new HashMap<>();
        joined(question.members(), member -> member).forEach(
                (memberId, member) -> specifications.put(memberId, specification.apply(member)));
        return specifications;
    }

    /** The coordinator's own map of the members of a group, who have joined one by one. */
    static <T> Map<String, T> joined(List<Case.Member> members, Function<Case.Member, T> known) {
        TimelineHashMap<String, T> map = new TimelineHashMap<>(registry(), 0);
        for (Case.Member member : members) {
            // A member that joins is written twice: its request, and the answer.
            map.put(member.memberId(), known.apply(member));
            map.put(member.memberId(), known.apply(member));
        }
        return map;
    }

    /** By reflection: LogContext has another package since 4.4. */
    private static SnapshotRegistry registry() {
        Class<?> logContext = SnapshotRegistry.class.getConstructors()[0].getParameterTypes()[0];
        return (SnapshotRegistry) Reflected.make(SnapshotRegistry.class, Reflected.make(logContext));
    }

    /** A member's target: given all at once, in the order of the list, to a member that had nothing; written, and read. */
    Map<Uuid, Set<Integer>> target(Case.Member member) {
        Map<Uuid, Set<Integer>> given = new HashMap<>(0);
        for (TopicPartition partition : member.ownedOrNone()) {
            given.computeIfAbsent(id(partition), i -> new HashSet<>()).add(partition.partition());
        }
        Map<Uuid, Set<Integer>> owned = new HashMap<>();
        given.forEach((id, numbers) -> owned.putIfAbsent(id, copy(numbers)));
        return owned;
    }

    /** A member's target as it is read from its record, which lists its partitions in the order of the case. */
    Map<Uuid, Set<Integer>> recordedTarget(Case.Member member) {
        Map<Uuid, List<Integer>> listed = new LinkedHashMap<>();
        for (TopicPartition partition : member.ownedOrNone()) {
            listed.computeIfAbsent(id(partition), i -> new ArrayList<>()).add(partition.partition());
        }
        Map<Uuid, Set<Integer>> owned = new HashMap<>();
        listed.forEach((id, numbers) -> owned.putIfAbsent(id, copy(numbers)));
        return owned;
    }

    /** The partitions whose share state is initialized, which alone can be assigned. */
    Map<Uuid, Set<Integer>> initialized() {
        Map<Uuid, Set<Integer>> initialized = new HashMap<>();
        partitions.forEach((id, count) -> {
            for (int partition = 0; partition < count; partition++) {
                if (!question.unavailable().contains(new TopicPartition(names.get(id), partition))) {
                    initialized.computeIfAbsent(id, i -> new HashSet<>()).add(partition);
                }
            }
        });
        return initialized;
    }

    /** The owner of every partition. */
    Map<Uuid, Map<Integer, String>> owners() {
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (Case.Member member : question.members()) {
            for (TopicPartition partition : member.ownedOrNone()) {
                owners.computeIfAbsent(id(partition), i -> new HashMap<>())
                        .put(partition.partition(), member.memberId());
            }
        }
        return owners;
    }

    Uuid id(TopicPartition partition) {
        return ids.computeIfAbsent(partition.topic(), t -> Uuid.randomUuid());
    }

    String name(Uuid topicId) {
        return names.get(topicId);
    }

    /** What a member subscribes to: first the names that it sent, then what was written of them. */
    Set<Uuid> subscribedTopicIds(Case.Member member) {
        return topicIds(copy(copy(member.topics())));
    }

    Set<Uuid> topicIds(Set<String> subscribed) {
        return new TopicIdsOfNames(subscribed);
    }

    /** The same before 3.8: a set of the ids, in the order of the sorted names. */
    Set<Uuid> idsOfSortedNames(Case.Member member) {
        Set<Uuid> subscribed = new HashSet<>();
        member.topics().stream().sorted().map(ids::get).filter(partitions::containsKey).forEach(subscribed::add);
        return subscribed;
    }

    boolean isHomogeneous() {
        Map<String, Integer> subscribers = new HashMap<>();
        for (Case.Member member : question.members()) {
            new HashSet<>(member.topics()).forEach(topic -> subscribers.merge(topic, 1, Integer::sum));
        }
        return subscribers.values().stream().allMatch(count -> count == question.members().size());
    }

    /** What each member has in the end; sets carry no order, so lists are sorted. */
    Map<String, List<TopicPartition>> sorted(Map<String, Map<Uuid, Set<Integer>>> given) {
        Map<String, List<TopicPartition>> sorted = new LinkedHashMap<>();
        for (Case.Member member : question.members()) {
            List<TopicPartition> list = new ArrayList<>();
            given.getOrDefault(member.memberId(), Map.of()).forEach((id, numbers) ->
                    numbers.forEach(number -> list.add(new TopicPartition(names.get(id), number))));
            list.sort(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition));
            sorted.put(member.memberId(), list);
        }
        return sorted;
    }

    /** The set that {@code new HashSet<>(items)} makes up to Java 18; later ones make smaller tables for 12, 24, .... */
    private static <T> Set<T> copy(Collection<T> items) {
        Set<T> set = new HashSet<>(Math.max((int) (items.size() / .75f) + 1, 16));
        set.addAll(items);
        return set;
    }

    /** As Kafka's TopicIds: as large as the set of names, with the ids of those that exist, in the order of the names. */
    private final class TopicIdsOfNames extends AbstractSet<Uuid> {
        private final Set<String> subscribed;

        TopicIdsOfNames(Set<String> subscribed) {
            this.subscribed = subscribed;
        }

        @Override
        public int size() {
            return subscribed.size();
        }

        @Override
        public boolean isEmpty() {
            return subscribed.isEmpty();
        }

        @Override
        public boolean contains(Object id) {
            return partitions.containsKey(id) && subscribed.contains(names.get(id));
        }

        @Override
        public Iterator<Uuid> iterator() {
            return subscribed.stream().map(ids::get).filter(partitions::containsKey).iterator();
        }
    }
}
