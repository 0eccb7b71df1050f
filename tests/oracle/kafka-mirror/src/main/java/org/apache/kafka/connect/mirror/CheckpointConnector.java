package org.apache.kafka.connect.mirror;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** The connector for checkpoints, whose committed offsets need no brokers. */
public final class CheckpointConnector extends MirrorCheckpointConnector {
    private final Map<String, List<String>> consumed;

    /** Takes the topics of which each group has committed offsets. */
    public CheckpointConnector(Map<String, List<String>> consumed) {
        this.consumed = consumed;
    }

    /** What the releases from 3.4.1 ask for each group. */
    Map<TopicPartition, OffsetAndMetadata> listConsumerGroupOffsets(String group) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        consumed.get(group).forEach(topic -> offsets.put(new TopicPartition(topic, 0), new OffsetAndMetadata(1)));
        return offsets;
    }

    /** What the releases from 4.0 ask. */
    Map<String, Map<TopicPartition, OffsetAndMetadata>> listConsumerGroupOffsets(List<String> groups) {
        Map<String, Map<TopicPartition, OffsetAndMetadata>> offsets = new HashMap<>();
        groups.forEach(group -> offsets.put(group, listConsumerGroupOffsets(group)));
        return offsets;
    }
}
