package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;

/** The cluster's metadata of a case: topics without racks. */
final class TopicsImage implements CoordinatorMetadataImage {
    static final TopicsImage EMPTY = new TopicsImage(0, Map.of(), Map.of());

    private final long version;
    private final Map<String, Topic> byName;
    /** Names of all topics that there have ever been. */
    private final Map<Uuid, String> namesEver;

    private TopicsImage(long version, Map<String, Topic> byName, Map<Uuid, String> namesEver) {
        this.version = version;
        this.byName = byName;
        this.namesEver = namesEver;
    }

    private record Topic(String name, Uuid id, int partitionCount) implements TopicMetadata {
        @Override
        public List<String> partitionRacks(int partitionId) {
            return new ArrayList<>();
        }
    }

    private record Delta(
            CoordinatorMetadataImage image,
            Collection<Uuid> createdTopicIds,
            Collection<Uuid> changedTopicIds,
            Set<Uuid> deletedTopicIds) implements CoordinatorMetadataDelta {
    }

    TopicsImage followedBy(List<CoordinatorStep.Topic> topics) {
        Map<String, Topic> named = new LinkedHashMap<>();
        Map<Uuid, String> names = new HashMap<>(namesEver);
        for (CoordinatorStep.Topic topic : topics) {
            Uuid id = Uuid.fromString(topic.id());
            named.put(topic.name(), new Topic(topic.name(), id, topic.partitions()));
            names.put(id, topic.name());
        }
        return new TopicsImage(version + 1, named, names);
    }

    CoordinatorMetadataDelta changesFrom(TopicsImage before) {
        List<Uuid> created = new ArrayList<>();
        List<Uuid> changed = new ArrayList<>();
        byName.values().forEach(topic -> {
            Topic old = before.byName.get(topic.name);
            if (old == null) {
                created.add(topic.id);
            }
            if (!topic.equals(old)) {
                changed.add(topic.id);
            }
        });
        Set<Uuid> deleted = before.byName.values().stream()
                .map(Topic::id)
                .filter(id -> !topicIds().contains(id))
                .collect(Collectors.toSet());
        return new Delta(before, created, changed, deleted);
    }

    List<ConsumerGroupHeartbeatRequestData.TopicPartitions> requestOf(List<TopicPartition> owned) {
        if (owned == null) {
            return null;
        }
        Map<Uuid, String> names = namesEver;
        Map<String, Uuid> ids = new HashMap<>();
        names.forEach((id, name) -> ids.put(name, id));
        Map<Uuid, List<Integer>> byTopic = new LinkedHashMap<>();
        for (TopicPartition partition : owned) {
            byTopic.computeIfAbsent(ids.get(partition.topic()), id -> new ArrayList<>()).add(partition.partition());
        }
        return byTopic.entrySet().stream()
                .map(topic -> new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                        .setTopicId(topic.getKey())
                        .setPartitions(topic.getValue()))
                .toList();
    }

    List<TopicPartition> assigned(ConsumerGroupHeartbeatResponseData.Assignment assignment) {
        if (assignment == null) {
            return null;
        }
        List<TopicPartition> partitions = new ArrayList<>();
        assignment.topicPartitions().forEach(topic -> topic.partitions().forEach(partition ->
                partitions.add(new TopicPartition(namesEver.get(topic.topicId()), partition))));
        return partitions;
    }

    String nameOf(Uuid id) {
        return namesEver.get(id);
    }

    @Override
    public Set<Uuid> topicIds() {
        return byName.values().stream().map(Topic::id).collect(Collectors.toSet());
    }

    @Override
    public Set<String> topicNames() {
        return byName.keySet();
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(String topicName) {
        return Optional.ofNullable(byName.get(topicName));
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(Uuid topicId) {
        return Optional.ofNullable(byName.get(namesEver.getOrDefault(topicId, "")))
                .filter(topic -> topic.id().equals(topicId))
                .map(topic -> topic);
    }

    @Override
    public CoordinatorMetadataDelta emptyDelta() {
        return new Delta(this, List.of(), List.of(), Set.of());
    }

    @Override
    public long version() {
        return version;
    }

    @Override
    public boolean isEmpty() {
        return byName.isEmpty();
    }
}
