package rebalancesim.oracle;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
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
        Object assignor = Reflected.make(Class.forName(CONSUMER + ASSIGNORS.get(question.rule())));
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
        Object subscription = Reflected.makeLongest(Class.forName(api() + "$Subscription"), fields);
        if (!Release.isBefore(2, 4)) {
            Reflected.call(subscription, "setGroupInstanceId", Optional.ofNullable(member.instanceId()));
        }
        return subscription;
    }

    private static Map<?, ?> assign(Object assignor, Cluster cluster, Map<String, Object> subscriptions)
            throws Exception {
        boolean takesMap = Release.isBefore(2, 4);
        Class<?> type = takesMap ? Map.class : Class.forName(api() + "$GroupSubscription");
        Object group = takesMap ? subscriptions : Reflected.make(type, subscriptions);
        // Assignors have another method of this name, with as many arguments.
        Method assign = Class.forName(api()).getMethod("assign", Cluster.class, type);
        Object assignment = Reflected.unwrapped(() -> assign.invoke(assignor, cluster, group));
        return (Map<?, ?>) (takesMap ? assignment : Reflected.call(assignment, "groupAssignment"));
    }

    private static Map<Object, Object> partitions(Map<?, ?> assignments) {
        Map<Object, Object> partitions = new LinkedHashMap<>();
        assignments.forEach((member, given) -> partitions.put(member, Reflected.call(given, "partitions")));
        return partitions;
    }
}
