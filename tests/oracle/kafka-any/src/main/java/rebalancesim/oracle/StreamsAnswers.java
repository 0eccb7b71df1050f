package rebalancesim.oracle;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.utils.Time;

/**
 * What the coordinator of any release since 4.1 assigns to the members of a streams group (KIP-1071): its
 * TargetAssignmentBuilder with its only task assignor. Both are found by name.
 */
final class StreamsAnswers {
    static final String STREAMS = "org.apache.kafka.coordinator.group.streams.";
    private static final String GROUP_ID = "g";
    private static final int EPOCH = 2;

    private StreamsAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("rule", question.rule());
        answer.put("kafka", Release.VERSION);
        answer.put("assignment", assignment(question));
        return answer;
    }

    private static Map<String, Object> assignment(Case question) throws Exception {
        Map<String, Object> targets = new HashMap<>();
        Map<String, Object> offsets = new HashMap<>();
        for (Case.Member member : question.members()) {
            if (Release.isBefore(4, 4)) {
                targets.put(member.memberId(), tasks("TasksTuple", sets(member.active()), member));
            } else if (member.offsets() != null) {
                offsets.put(member.memberId(), Reflected.make(
                        Class.forName(STREAMS + "MemberTaskOffsets"), member.offsets(), Map.of()));
            }
        }
        Object builder = Reflected.make(Class.forName(STREAMS + "TargetAssignmentBuilder"), GROUP_ID, EPOCH,
                Reflected.make(Class.forName(STREAMS + "assignor.StickyTaskAssignor")),
                Map.of("num.standby.replicas", Integer.toString(question.standbyReplicas())));
        Reflected.call(builder, "withMembers", ServerGroup.joined(question.members(),
                member -> Reflected.unwrapped(() -> member(member))));
        Reflected.call(builder, "withTopology", topology(question.subtopologies()));
        Reflected.call(builder, "withTargetAssignment", targets);
        setIfThere(builder, "withTaskOffsets", offsets);
        setIfThere(builder, "withTime", Time.SYSTEM);
        Object result = Reflected.call(builder, "build");
        Map<String, Object> assignment = new TreeMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) Reflected.call(result, "targetAssignment")).entrySet()) {
            assignment.put((String) entry.getKey(), Map.of(
                    "active", sorted(Reflected.call(entry.getValue(), "activeTasks")),
                    "standby", sorted(Reflected.call(entry.getValue(), "standbyTasks")),
                    "warmup", sorted(Reflected.call(entry.getValue(), "warmupTasks"))));
        }
        return assignment;
    }

    /** A member, whose current tasks count since 4.4. */
    private static Object member(Case.Member member) throws ReflectiveOperationException {
        Class<?> type = Class.forName(STREAMS + "StreamsGroupMember$Builder");
        Object builder = type.getMethod("withDefaults", String.class).invoke(null, member.memberId());
        Reflected.call(builder, "setProcessId", member.processId());
        Reflected.call(builder, "setInstanceId", member.instanceId());
        Reflected.call(builder, "setRackId", member.rack());
        Reflected.call(builder, "setClientTags", member.clientTags() == null ? Map.of() : member.clientTags());
        if (!Release.isBefore(4, 4)) {
            Map<String, Map<Integer, Integer>> active = new HashMap<>();
            sets(member.active()).forEach((subtopology, partitions) -> {
                Map<Integer, Integer> epochs = new HashMap<>();
                partitions.forEach(partition -> epochs.put(partition, 1));
                active.put(subtopology, epochs);
            });
            Reflected.call(builder, "setAssignedTasks", tasks("TasksTupleWithEpochs", active, member));
        }
        return type.getMethod("build").invoke(builder);
    }

    private static Object tasks(String type, Map<String, ?> active, Case.Member member)
            throws ReflectiveOperationException {
        return Reflected.make(
                Class.forName(STREAMS + type), active, sets(member.standby()), sets(member.warmup()));
    }

    static Map<String, Set<Integer>> sets(Map<String, List<Integer>> tasks) {
        Map<String, Set<Integer>> sets = new HashMap<>();
        if (tasks != null) {
            tasks.forEach((subtopology, partitions) -> sets.put(subtopology, new HashSet<>(partitions)));
        }
        return sets;
    }

    private static Object topology(Map<String, Case.Subtopology> subtopologies) throws ReflectiveOperationException {
        Object changelog = Reflected.make(
                Class.forName(STREAMS + "topics.ConfiguredInternalTopic"), "changelog", 1, Optional.empty(), Map.of());
        Map<String, Object> configured = new TreeMap<>();
        for (Map.Entry<String, Case.Subtopology> entry : subtopologies.entrySet()) {
            configured.put(entry.getKey(), Reflected.make(
                    Class.forName(STREAMS + "topics.ConfiguredSubtopology"), entry.getValue().tasks(), Set.of(),
                    Map.of(), Set.of(), entry.getValue().stateful() ? Map.of("changelog", changelog) : Map.of()));
        }
        return Reflected.make(Class.forName(STREAMS + "topics.ConfiguredTopology"), 1, 1L,
                Optional.of(configured), Map.of(), Optional.empty());
    }

    static Map<String, Set<Integer>> sorted(Object tasks) {
        Map<String, Set<Integer>> sorted = new TreeMap<>();
        ((Map<?, ?>) tasks).forEach((subtopology, partitions) -> {
            Set<Integer> numbers = new TreeSet<>();
            ((Set<?>) partitions).forEach(partition -> numbers.add((Integer) partition));
            sorted.put((String) subtopology, numbers);
        });
        return sorted;
    }

    private static void setIfThere(Object builder, String name, Object value) {
        if (Reflected.methodOrNull(builder.getClass(), name, 1) != null) {
            Reflected.call(builder, name, value);
        }
    }
}
