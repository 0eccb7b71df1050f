package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

/** What the assignors of any release make of one case: their classes are found by name. */
final class GroupAnswers {
    private static final String CONSUMER = "org.apache.kafka.clients.consumer.";
    private static final Map<String, String> ASSIGNORS = Map.of(
            "range", "RangeAssignor",
            "roundrobin", "RoundRobinAssignor",
            "sticky", "StickyAssignor",
            "cooperative-sticky", "CooperativeStickyAssignor");

    private GroupAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("rule", question.rule());
        answer.put("kafka", Release.VERSION);
        answer.put("assignment", question.isServerSide()
                ? ServerAssignors.assignment(question) : consumersAssignment(question));
        return answer;
    }

    private static Map<?, ?> consumersAssignment(Case question) throws Exception {
        Map<String, Object> subscriptions = new HashMap<>();
        for (Case.Member member : question.members()) {
            subscriptions.put(member.memberId(), subscription(question.rule(), member));
        }
        Object assignor = Class.forName(CONSUMER + ASSIGNORS.get(question.rule())).getConstructor().newInstance();
        Cluster cluster = Clusters.of(question);
        return partitions(TimeLimit.within(() -> assign(assignor, cluster, subscriptions)));
    }

    /** The interface of assignors: ConsumerPartitionAssignor since 2.4, before that PartitionAssignor. */
    private static String api() {
        return CONSUMER + (Release.isBefore(2, 4) ? "internals.PartitionAssignor" : "ConsumerPartitionAssignor");
    }

    /**
     * A subscription with the fields of its release: topics and user data, then owned partitions (2.4), the generation
     * and the rack. Cooperative consumers send their generation in the user data (2.8.1) before it has its own field.
     */
    private static Object subscription(String rule, Case.Member member) throws Exception {
        boolean isCooperative = rule.equals("cooperative-sticky");
        ByteBuffer userData = rule.equals("sticky") ? StickyUserData.of(member)
                : isCooperative ? ByteBuffer.allocate(Integer.BYTES).putInt(member.generationOrNone()).flip() : null;
        List<TopicPartition> owned = isCooperative ? member.ownedOrNone() : List.of();
        Object[] fields = {member.topics(), userData, owned, member.generationOrNone(),
                Optional.ofNullable(member.rack())};
        Class<?> type = Class.forName(api() + "$Subscription");
        Constructor<?> constructor = Arrays.stream(type.getConstructors())
                .max(Comparator.comparing(Constructor::getParameterCount)).orElseThrow();
        Object subscription = constructor.newInstance(Arrays.copyOf(fields, constructor.getParameterCount()));
        if (!Release.isBefore(2, 4)) {
            type.getMethod("setGroupInstanceId", Optional.class)
                    .invoke(subscription, Optional.ofNullable(member.instanceId()));
        }
        return subscription;
    }

    private static Map<?, ?> assign(Object assignor, Cluster cluster, Map<String, Object> subscriptions)
            throws Exception {
        Class<?> api = Class.forName(api());
        try {
            if (Release.isBefore(2, 4)) {
                return (Map<?, ?>) api.getMethod("assign", Cluster.class, Map.class)
                        .invoke(assignor, cluster, subscriptions);
            }
            Class<?> group = Class.forName(api() + "$GroupSubscription");
            Object assignment = api.getMethod("assign", Cluster.class, group)
                    .invoke(assignor, cluster, group.getConstructor(Map.class).newInstance(subscriptions));
            return (Map<?, ?>) assignment.getClass().getMethod("groupAssignment").invoke(assignment);
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    private static Map<Object, Object> partitions(Map<?, ?> assignments) throws ReflectiveOperationException {
        Map<Object, Object> partitions = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : assignments.entrySet()) {
            Object assignment = entry.getValue();
            partitions.put(entry.getKey(), assignment.getClass().getMethod("partitions").invoke(assignment));
        }
        return partitions;
    }
}
