package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.share.ShareGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupMember;

/** The state of a consumer-protocol group (KIP-848) or a share group (KIP-932) in an answer. */
final class ConsumerGroups {
    private ConsumerGroups() {
    }

    static Coordinator.ConsumerGroup shown(ConsumerGroup group, TopicsImage topics) {
        return new Coordinator.ConsumerGroup(group.stateAsString(), group.groupEpoch(), group.assignmentEpoch(),
                group.members().values().stream().map(member -> shown(member, topics)).toList());
    }

    static Coordinator.ConsumerGroup shown(ShareGroup group, TopicsImage topics) {
        return new Coordinator.ConsumerGroup(group.stateAsString(), group.groupEpoch(), group.assignmentEpoch(),
                group.members().values().stream().map(member -> shown(member, topics)).toList());
    }

    private static Coordinator.ConsumerGroupMember shown(ShareGroupMember member, TopicsImage topics) {
        return new Coordinator.ConsumerGroupMember(member.memberId(), null, member.memberEpoch(),
                member.previousMemberEpoch(), member.state().name(), false,
                partitions(member.assignedPartitions(), topics), List.of());
    }

    private static Coordinator.ConsumerGroupMember shown(ConsumerGroupMember member, TopicsImage topics) {
        return new Coordinator.ConsumerGroupMember(member.memberId(), member.instanceId(), member.memberEpoch(),
                member.previousMemberEpoch(), member.state().name(), member.useClassicProtocol(),
                partitions(member.assignedPartitions(), topics),
                partitions(member.partitionsPendingRevocation(), topics));
    }

    /** Since 4.3 partitions are a map to their epochs, and a set before. */
    private static List<TopicPartition> partitions(Map<Uuid, ?> byTopic, TopicsImage topics) {
        List<TopicPartition> partitions = new ArrayList<>();
        byTopic.forEach((id, ofTopic) -> {
            Set<?> numbers = ofTopic instanceof Map<?, ?> epochs ? epochs.keySet() : (Set<?>) ofTopic;
            numbers.forEach(number -> partitions.add(new TopicPartition(topics.nameOf(id), (int) number)));
        });
        return partitions;
    }
}
