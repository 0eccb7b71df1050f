package rebalancesim.oracle;

import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** What the coordinator's assignors of any release since 3.7 make of one case: their classes are found by name. */
final class ServerAssignors {
    private static final String COORDINATOR = "org.apache.kafka.coordinator.group.";
    private static final Map<String, String> ASSIGNORS = Map.of(
            "server-range", "RangeAssignor", "server-uniform", "UniformAssignor", "share-simple", "SimpleAssignor");

    private ServerAssignors() {
    }

    static Map<String, List<TopicPartition>> assignment(Case question) throws Exception {
        ServerGroup members = new ServerGroup(question);
        Object assignor = Reflected.make(Class.forName(COORDINATOR + "assignor." + ASSIGNORS.get(question.rule())));
        Class<?> describer = Class.forName(api() + "SubscribedTopicDescriber");
        Object topics = Proxy.newProxyInstance(describer.getClassLoader(), new Class<?>[] {describer},
                (proxy, method, arguments) -> method.getName().equals("numPartitions")
                        ? members.numPartitions((Uuid) arguments[0])
                        : members.racksForPartition((Uuid) arguments[0], (Integer) arguments[1]));
        boolean isShared = Case.isOfShareGroups(question.rule());
        Object group = Release.isBefore(3, 8) ? assignmentSpec(members) : groupSpec(members, isShared);
        Object given = Reflected.call(assignor, "assign", group, topics);
        Map<String, Map<Uuid, Set<Integer>>> partitions = new HashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) Reflected.call(given, "members")).entrySet()) {
            partitions.put((String) entry.getKey(), partitions(entry.getValue()));
        }
        return members.sorted(partitions);
    }

    /** The package of the interfaces; in 3.7 they are beside the assignors. */
    private static String api() {
        return COORDINATOR + (Release.isBefore(3, 8) ? "assignor." : "api.assignor.");
    }

    /** The package of the group, which was moved in 3.9. */
    private static String groups() {
        return COORDINATOR + (Release.isBefore(3, 9) ? "consumer." : "modern.");
    }

    private static Object assignmentSpec(ServerGroup members) throws Exception {
        Class<?> type = Class.forName(api() + "AssignmentMemberSpec");
        return Reflected.make(Class.forName(api() + "AssignmentSpec"), members.specifications(member -> Reflected.make(
                type,
                Optional.ofNullable(member.instanceId()),
                Optional.ofNullable(member.rack()),
                members.idsOfSortedNames(member),
                Collections.unmodifiableMap(members.target(member)))));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Object groupSpec(ServerGroup members, boolean isShared) throws Exception {
        Class<?> type = Class.forName(groups() + "MemberSubscriptionAndAssignmentImpl");
        Class<?> assignment = Class.forName(groups() + "Assignment");
        Enum<?> subscriptions = Enum.valueOf((Class) Class.forName(api() + "SubscriptionType"),
                members.isHomogeneous() ? "HOMOGENEOUS" : "HETEROGENEOUS");
        Map<String, Object> specifications = members.specifications(member -> {
            Object rack = Optional.ofNullable(member.rack());
            Object instance = Optional.ofNullable(member.instanceId());
            Object topics = members.subscribedTopicIds(member);
            Object target = Reflected.make(
                    assignment, isShared ? members.recordedTarget(member) : members.target(member));
            return Release.isBefore(3, 9) ? Reflected.make(type, rack, topics, target)
                    : Reflected.make(type, rack, instance, topics, target);
        });
        Class<?> spec = Class.forName(groups() + "GroupSpecImpl");
        return isShared && !Release.isBefore(4, 1)
                ? Reflected.make(spec, specifications, subscriptions, Map.of(), Optional.of(members.initialized()))
                : Reflected.make(spec, specifications, subscriptions, members.owners());
    }

    @SuppressWarnings("unchecked")
    private static Map<Uuid, Set<Integer>> partitions(Object ofMember) {
        return (Map<Uuid, Set<Integer>>) Reflected.call(
                ofMember, Release.isBefore(3, 8) ? "targetPartitions" : "partitions");
    }
}
