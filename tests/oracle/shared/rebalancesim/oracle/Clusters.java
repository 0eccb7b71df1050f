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

/** The metadata of a case's topics: one broker a rack, and one without a rack for partitions of unknown place. */
final class Clusters {
    private Clusters() {
    }

    static Cluster of(Case question) {
        Map<String, Node> nodes = new LinkedHashMap<>();
        Node rackless = node(nodes, null);
        List<PartitionInfo> partitions = new ArrayList<>();
        question.topics().forEach((topic, count) -> {
            for (int i = 0; i < count; i++) {
                List<String> racks = question.racksOf(new TopicPartition(topic, i));
                Node[] replicas = racks.stream().map(rack -> node(nodes, rack)).toArray(Node[]::new);
                Node leader = replicas.length > 0 ? replicas[0] : rackless;
                partitions.add(new PartitionInfo(topic, i, leader, replicas, replicas));
            }
        });
        return new Cluster("oracle", nodes.values(), partitions, Set.of(), Set.of());
    }

    private static Node node(Map<String, Node> nodes, String rack) {
        return nodes.computeIfAbsent(rack, r -> new Node(nodes.size(), "broker-" + nodes.size(), 9092, r));
    }
}
