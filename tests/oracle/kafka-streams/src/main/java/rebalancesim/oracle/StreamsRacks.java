package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;
import org.mockito.Mockito;

/** Kafka's {@code RackAwareTaskAssignor} (since 3.6), with the racks of a case. */
final class StreamsRacks {
    private StreamsRacks() {
    }

    static Object assignor(StreamsCase application, Object configs) throws Exception {
        Map<Object, Object> racks = new HashMap<>();
        for (StreamsCase.Client client : application.clients()) {
            Map<String, Optional<String>> ofConsumers = new HashMap<>();
            client.consumers().forEach(
                    consumer -> ofConsumers.put(consumer.id(), Optional.ofNullable(client.rack())));
            racks.put(StreamsTasks.processId(client.process()), ofConsumers);
        }
        return Reflected.makeLongest(Class.forName(StreamsTasks.ASSIGNMENT + "RackAwareTaskAssignor"),
                cluster(application.racks()), partitions(application.sources()), partitions(application.changelogs()),
                subtopologies(application), racks, internalTopics(application.racks()), configs, Time.SYSTEM);
    }

    private static Map<TaskId, Set<TopicPartition>> partitions(Map<String, List<String>> topicsByTask) {
        Map<TaskId, Set<TopicPartition>> partitions = new HashMap<>();
        if (topicsByTask != null) {
            topicsByTask.forEach((task, topics) -> {
                TaskId id = StreamsTasks.task(task);
                Set<TopicPartition> ofTask = new HashSet<>();
                topics.forEach(topic -> ofTask.add(new TopicPartition(topic, partitionOf(task))));
                partitions.put(id, ofTask);
            });
        }
        return partitions;
    }

    private static int partitionOf(String task) {
        return Integer.parseInt(task.substring(task.indexOf('_') + 1));
    }

    /** Racks of the replicas of each partition, by topic. */
    static Cluster cluster(Map<String, List<List<String>>> racksByTopic) {
        List<PartitionInfo> partitions = new ArrayList<>();
        Set<Node> brokers = new HashSet<>();
        if (racksByTopic != null) {
            racksByTopic.forEach((topic, racks) -> {
                for (int p = 0; p < racks.size(); p++) {
                    Node[] replicas = nodes(racks.get(p)).toArray(Node[]::new);
                    brokers.addAll(List.of(replicas));
                    Node leader = replicas.length == 0 ? null : replicas[0];
                    partitions.add(new PartitionInfo(topic, p, leader, replicas, replicas));
                }
            });
        }
        return new Cluster("cluster", brokers, partitions, Set.of(), Set.of());
    }

    /** A broker for each rack. */
    private static List<Node> nodes(List<String> racks) {
        return racks.stream().map(rack -> new Node(String.valueOf(rack).hashCode() & 0xFFFF, "host", 9092, rack)).toList();
    }

    /** Repartition and changelog topics, all of which exist already. */
    static InternalTopicManager internalTopics(Map<String, List<List<String>>> racksByTopic) {
        return Mockito.mock(InternalTopicManager.class, call -> switch (call.getMethod().getName()) {
            case "makeReady" -> Set.of();
            case "getTopicPartitionInfo" -> described(call.getArgument(0), racksByTopic);
            default -> Mockito.RETURNS_DEFAULTS.answer(call);
        });
    }

    private static Map<String, List<TopicPartitionInfo>> described(
            Set<String> topics, Map<String, List<List<String>>> racksByTopic) {
        Map<String, List<TopicPartitionInfo>> described = new LinkedHashMap<>();
        for (String topic : topics) {
            List<List<String>> racks = racksByTopic.getOrDefault(topic, List.of());
            List<TopicPartitionInfo> infos = new ArrayList<>();
            for (int p = 0; p < racks.size(); p++) {
                List<Node> replicas = nodes(racks.get(p));
                infos.add(new TopicPartitionInfo(p, replicas.isEmpty() ? null : replicas.get(0), replicas, replicas));
            }
            described.put(topic, infos);
        }
        return described;
    }

    private static Map<Object, Set<TaskId>> subtopologies(StreamsCase application) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.streams.processor.internals.TopologyMetadata$Subtopology");
        Map<Object, Set<TaskId>> subtopologies = new HashMap<>();
        for (String task : application.tasks()) {
            int number = Integer.parseInt(task.substring(0, task.indexOf('_')));
            subtopologies.computeIfAbsent(Reflected.make(type, number, null), each -> new HashSet<>())
                    .add(StreamsTasks.task(task));
        }
        return subtopologies;
    }
}
