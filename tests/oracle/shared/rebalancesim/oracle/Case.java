package rebalancesim.oracle;

import com.google.gson.JsonObject;
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
        String bytes,
        List<String> keys,
        List<TopicPartition> unavailable,
        long seed,
        List<JsonObject> steps,
        int stickyBatchSize,
        int batchSize,
        int lingerMs,
        boolean adaptive,
        List<Sent> records,
        JsonObject config,
        String partitioner,
        Map<String, Subtopology> subtopologies,
        int standbyReplicas) {

    /** The class that answers a case of this rule. */
    String answeredBy() {
        if (rule.startsWith("kafka-streams-")) {
            return "KafkaStreamsAnswers";
        }
        return switch (rule) {
            case "murmur2", "default-partitioner", "built-in-partitioner", "producer" -> "ProducerAnswers";
            case "coordinator" -> "CoordinatorAnswers";
            case "offsets-topic" -> "OffsetsTopicAnswers";
            case "connect" -> "ConnectAnswers";
            case "mirror" -> "MirrorAnswers";
            case "streams-sticky" -> "StreamsAnswers";
            case "streams-reconciliation" -> "StreamsReconciliation";
            default -> "GroupAnswers";
        };
    }

    /** Whether the coordinator assigns, and not a client. */
    static boolean isServerSide(String rule) {
        return rule.startsWith("server-") || isOfShareGroups(rule);
    }

    boolean isServerSide() {
        return isServerSide(rule);
    }

    /** Whether it is the assignor of share groups (KIP-932). */
    static boolean isOfShareGroups(String rule) {
        return rule.startsWith("share-");
    }

    /** The steps of a case, as its rule reads them. */
    <T> List<T> stepsAs(Class<T> type) {
        return steps.stream().map(step -> Json.convert(step, type)).toList();
    }

    List<String> removals() {
        return remove == null ? List.of() : remove;
    }

    /** Racks of the replicas of one partition; empty where the case has none. */
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
            String rack,
            String processId,
            Map<String, String> clientTags,
            Map<String, List<Integer>> active,
            Map<String, List<Integer>> standby,
            Map<String, List<Integer>> warmup,
            Map<String, Map<Integer, Long>> offsets) {

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

    /** The subtopology of a streams group: stateful if it has a changelog topic. */
    record Subtopology(int tasks, boolean stateful) {
    }

    /** One call of a partitioner; "call" is its kind, which decides the other fields. */
    record Step(
            String call,
            String topic,
            String key,
            int partition,
            List<TopicPartition> unavailable,
            int bytes,
            boolean enableSwitch,
            Load load) {
    }

    record Load(int[] queueSizes, int[] partitionIds, int length) {
    }

    /** A record given to a producer; without a partition it is for the partitioner to place, whatever its key. */
    record Sent(long atMs, String topic, Integer partition, Integer keyBytes, Integer valueBytes) {
        byte[] key() {
            return zeros(keyBytes);
        }

        byte[] value() {
            return zeros(valueBytes);
        }

        private static byte[] zeros(Integer length) {
            return length == null ? null : new byte[length];
        }
    }
}
