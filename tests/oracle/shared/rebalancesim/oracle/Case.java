package rebalancesim.oracle;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** One line of input. Each rule reads the fields it needs; the others are null. */
record Case(
        String rule,
        String id,
        List<Member> members,
        List<String> remove,
        Map<String, Integer> topics,
        Map<String, String> topicIds,
        Map<String, List<List<String>>> racks,
        String groupId,
        int offsetsPartitions,
        String bytes) {

    /** Whether the coordinator assigns, and not a client. */
    static boolean isServerSide(String rule) {
        return rule.startsWith("server-");
    }

    boolean isServerSide() {
        return isServerSide(rule);
    }

    List<String> removals() {
        return remove == null ? List.of() : remove;
    }

    /** Racks of the replicas of one partition; empty where the case tells none. */
    List<String> racksOf(TopicPartition partition) {
        List<List<String>> ofTopic = racks == null ? null : racks.get(partition.topic());
        boolean known = ofTopic != null && partition.partition() < ofTopic.size();
        return known ? ofTopic.get(partition.partition()) : List.of();
    }

    record Member(
            String memberId,
            String instanceId,
            String protocolType,
            List<String> protocols,
            List<String> topics,
            List<TopicPartition> owned,
            Integer generation,
            String rack) {

        String protocolTypeOrDefault() {
            return protocolType == null ? "consumer" : protocolType;
        }

        List<TopicPartition> ownedOrNone() {
            return owned == null ? List.of() : owned;
        }

        int generationOrNone() {
            return generation == null ? -1 : generation;
        }
    }
}
