package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** What a producer knows of a case's topics: partitions in ascending order, led by a broker each or by none. */
final class ProducerMetadata {
    private ProducerMetadata() {
    }

    static Cluster of(Case question, List<TopicPartition> unavailable) {
        Map<TopicPartition, Node> nodes = new LinkedHashMap<>();
        partitions(question).forEach(partition -> nodes.put(partition, broker(nodes.size())));
        List<PartitionInfo> partitions = new ArrayList<>();
        nodes.forEach((partition, node) -> {
            Node leader = unavailable.contains(partition) ? null : node;
            Node[] replicas = {node};
            partitions.add(new PartitionInfo(partition.topic(), partition.partition(), leader, replicas, replicas));
        });
        return new Cluster("oracle", nodes.values(), partitions, Set.of(), Set.of());
    }

    /** In the order of the case's topics, then by number. */
    static List<TopicPartition> partitions(Case question) {
        List<TopicPartition> partitions = new ArrayList<>();
        question.topics().forEach((topic, count) -> {
            for (int i = 0; i < count; i++) {
                partitions.add(new TopicPartition(topic, i));
            }
        });
        return partitions;
    }

    private static Node broker(int id) {
        return new Node(id, "broker-" + id, 9092);
    }
}
