package rebalancesim.oracle;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.mirror.CheckpointConnector;
import org.apache.kafka.connect.mirror.MirrorSourceConnector;
import org.apache.kafka.connect.mirror.SourceAndTarget;

/**
 * How connectors of MirrorMaker 2 divide topic partitions, or consumer groups, among their tasks.
 *
 * <p>A connector is not started, which would connect to brokers: its fields get what its start puts there.
 */
final class MirrorAnswers {
    private static final ListingBroker BROKER = new ListingBroker();

    private MirrorAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        Configured configured = Json.convert(question.config(), Configured.class);
        boolean ofTopics = configured.consumed() == null;
        Connector connector =
                ofTopics ? new MirrorSourceConnector() : new CheckpointConnector(configured.consumed());
        Map<String, String> settings = new HashMap<>(configured.settings());
        settings.putAll(Map.of("name", "mirror", "connector.class", connector.getClass().getName()));
        configure(connector, settings);
        if (ofTopics) {
            BROKER.lists(question.topics(), configured.asKraft());
        } else {
            BROKER.lists(new ArrayList<>(configured.consumed().keySet()));
        }
        discover(connector);
        BROKER.checkAsked();
        int tasksMax = Integer.parseInt(settings.getOrDefault("tasks.max", "1"));
        List<List<String>> tasks = new ArrayList<>();
        for (Map<String, String> task : connector.taskConfigs(tasksMax)) {
            tasks.add(List.of(task.get(ofTopics ? "task.assigned.partitions" : "task.assigned.groups").split(",")));
        }
        return Map.of("tasks", tasks);
    }

    /** Every field of a connector that its configuration has a method for is what this method returns, or made of it. */
    private static void configure(Connector connector, Map<String, String> settings) throws Exception {
        Class<?> type = Reflected.fieldOrNull(connector.getClass(), "config").getType();
        Object config = Reflected.make(type, settings);
        for (Field field : connectorType(connector).getDeclaredFields()) {
            Method method = Reflected.methodOrNull(type, field.getName(), 0);
            if (method != null && method.getReturnType() == field.getType()) {
                Reflected.write(connector, field.getName(), method.invoke(config));
            }
        }
        Reflected.write(connector, "config", config);
        Reflected.write(connector, "sourceAndTarget",
                new SourceAndTarget(settings.get("source.cluster.alias"), settings.get("target.cluster.alias")));
        Reflected.write(connector, "sourceAdminClient", BROKER.admin());
    }

    /** Lets a connector find what it replicates, under the names of the release's methods and fields. */
    private static void discover(Connector connector) throws Exception {
        for (String what : List.of("SourceTopicPartitions", "TopicPartitions", "ConsumerGroups")) {
            Method find = Reflected.methodOrNull(connectorType(connector), "find" + what, 0);
            if (find != null) {
                Reflected.write(connector, "known" + what, find.invoke(connector));
                return;
            }
        }
        throw new IllegalStateException("no method finds what is replicated");
    }

    private static Class<?> connectorType(Connector connector) {
        Class<?> type = connector.getClass();
        return type == CheckpointConnector.class ? type.getSuperclass() : type;
    }

    /** A connector; one for checkpoints has groups, with the topics of which they have committed offsets. */
    record Configured(Map<String, String> settings, boolean asKraft, Map<String, List<String>> consumed) {
    }
}
