package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder;
import org.apache.kafka.streams.state.Stores;

/** A topology that is made by the DSL, and what the assignor knows of it. */
final class StreamsTopology {
    private static final String INTERNALS = "org.apache.kafka.streams.processor.internals.";

    /** A source with what is done with its records: "stateless", "stateful", "table" or "repartition". */
    record Part(String kind, List<String> topics, int partitions) {
    }

    final InternalTopologyBuilder builder;
    /** {@code TopologyMetadata}; null before 3.2. */
    final Object metadata;

    StreamsTopology(List<Part> parts) throws Exception {
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
        // Tables then use their source topic as the changelog.
        properties.put("topology.optimization", "all");
        StreamsBuilder streams = new StreamsBuilder();
        for (int i = 0; i < parts.size(); i++) {
            add(streams, parts.get(i), i);
        }
        Topology topology = streams.build(properties);
        builder = (InternalTopologyBuilder) Reflected.read(topology, "internalTopologyBuilder");
        StreamsConfig config = new StreamsConfig(properties);
        if (Release.isBefore(3, 2)) {
            builder.rewriteTopology(config);
            builder.buildTopology();
            metadata = null;
        } else {
            metadata = Class.forName(INTERNALS + "TopologyMetadata")
                    .getConstructor(InternalTopologyBuilder.class, StreamsConfig.class).newInstance(builder, config);
            Reflected.call(metadata, "buildAndRewriteTopology");
        }
    }

    private static void add(StreamsBuilder streams, Part part, int number) {
        if (part.kind().equals("table")) {
            streams.table(part.topics().get(0), Materialized.as(Stores.inMemoryKeyValueStore("table" + number)));
            return;
        }
        KStream<Object, Object> stream = streams.stream(part.topics());
        switch (part.kind()) {
            case "stateless" -> stream.foreach((key, value) -> { });
            case "stateful" -> count(stream, number);
            case "repartition" -> count(stream.repartition(Repartitioned.<Object, Object>as("re" + number)
                    .withNumberOfPartitions(part.partitions())), number);
            default -> throw new IllegalArgumentException(part.kind());
        }
    }

    private static void count(KStream<Object, Object> stream, int number) {
        stream.groupByKey().count(Materialized.as(Stores.inMemoryKeyValueStore("store" + number)));
    }

    /** The topics of each subtopology, as the assignor is told. */
    Map<String, Object> described() throws Exception {
        Map<?, ?> groups = metadata == null ? (Map<?, ?>) Reflected.call(builder, "topicGroups")
                : (Map<?, ?>) Reflected.call(metadata, "subtopologyTopicsInfoMapExcluding", new HashSet<>());
        Map<Integer, Object> described = new TreeMap<>();
        for (Map.Entry<?, ?> group : groups.entrySet()) {
            Object key = group.getKey();
            int number = key instanceof Integer plain ? plain : (int) Reflected.read(key, "nodeGroupId");
            Object info = group.getValue();
            Map<String, Object> topics = new LinkedHashMap<>();
            topics.put("sources", names(Reflected.read(info, "sourceTopics")));
            topics.put("repartitions", names(((Map<?, ?>) Reflected.read(info, "repartitionSourceTopics")).keySet()));
            topics.put("changelogs", names(((Map<?, ?>) Reflected.read(info, "stateChangelogTopics")).keySet()));
            described.put(number, topics);
        }
        return Map.of("subtopologies", described);
    }

    private static List<String> names(Object names) {
        return new ArrayList<>(new TreeSet<>((Set<String>) names));
    }
}
