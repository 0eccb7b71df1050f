package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.ShareGroupHeartbeatResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;

/** The cluster's metadata of a case: topics without racks. */
final class TopicsImage {
    static final TopicsImage EMPTY = new TopicsImage(changesOf(MetadataImage.EMPTY), 0, Map.of());
    private static final List<Integer> ONE_BROKER = List.of(0);

    private final MetadataDelta delta;
    private final MetadataImage image;
    /** Names of all topics that there have ever been. */
    private final Map<Uuid, String> namesEver;

    private TopicsImage(MetadataDelta delta, long version, Map<Uuid, String> namesEver) {
        this.delta = delta;
        this.image = delta.apply(new MetadataProvenance(version, 0, 0, true));
        this.namesEver = namesEver;
    }

    private static MetadataDelta changesOf(MetadataImage image) {
        return new MetadataDelta.Builder().setImage(image).build();
    }

    TopicsImage followedBy(List<CoordinatorStep.Topic> topics) {
        Map<Uuid, String> names = new HashMap<>(namesEver);
        MetadataDelta changes = changesOf(image);
        List<Uuid> listed = topics.stream().map(topic -> Uuid.fromString(topic.id())).toList();
        image.topics().topicsById().keySet().stream()
                .filter(id -> !listed.contains(id))
                .forEach(id -> changes.replay(new RemoveTopicRecord().setTopicId(id)));
        for (CoordinatorStep.Topic topic : topics) {
            Uuid id = Uuid.fromString(topic.id());
            names.put(id, topic.name());
            addPartitions(changes, id, topic);
        }
        return new TopicsImage(changes, image.offset() + 1, names);
    }

    private void addPartitions(MetadataDelta changes, Uuid id, CoordinatorStep.Topic topic) {
        TopicImage before = image.topics().getTopic(id);
        if (before == null) {
            changes.replay(new TopicRecord().setTopicId(id).setName(topic.name()));
        }
        for (int i = before == null ? 0 : before.partitions().size(); i < topic.partitions(); i++) {
            changes.replay(new PartitionRecord()
                    .setTopicId(id)
                    .setPartitionId(i)
                    .setReplicas(ONE_BROKER)
                    .setIsr(ONE_BROKER)
                    .setLeader(0));
        }
    }

    MetadataImage image() {
        return image;
    }

    /** What has changed since the image before. */
    MetadataDelta changes() {
        return delta;
    }

    List<ConsumerGroupHeartbeatRequestData.TopicPartitions> requestOf(List<TopicPartition> owned) {
        if (owned == null) {
            return null;
        }
        Map<String, Uuid> ids = new HashMap<>();
        namesEver.forEach((id, name) -> ids.put(name, id));
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

    List<TopicPartition> assigned(ShareGroupHeartbeatResponseData.Assignment assignment) {
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

    /** The id of a topic that exists, or null. */
    Uuid idOf(String name) {
        TopicImage topic = image.topics().getTopic(name);
        return topic == null ? null : topic.id();
    }
}
