package rebalancesim.oracle;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;

/** What the coordinator of any release since 4.1 makes of a heartbeat's tasks: its CurrentAssignmentBuilder. */
final class StreamsReconciliation {
    private StreamsReconciliation() {
    }

    /** Partitions by subtopology. */
    record Tasks(
            Map<String, List<Integer>> active, Map<String, List<Integer>> standby, Map<String, List<Integer>> warmup) {
    }

    /** Epochs of active tasks, by subtopology and partition. */
    record CurrentTasks(
            Map<String, Map<Integer, Integer>> active,
            Map<String, List<Integer>> standby,
            Map<String, List<Integer>> warmup) {
    }

    /** By subtopology and partition, the processes that hold a task. */
    record Holders(
            Map<String, Map<Integer, String>> active,
            Map<String, Map<Integer, Set<String>>> standby,
            Map<String, Map<Integer, Set<String>>> warmup) {
    }

    record Heartbeat(
            byte state,
            int epoch,
            int previousEpoch,
            CurrentTasks assigned,
            CurrentTasks pending,
            int targetEpoch,
            Tasks target,
            Holders holders,
            Tasks owned) {
    }

    static Map<String, Object> to(Case question) throws Exception {
        Heartbeat heartbeat = Json.convert(question.config(), Heartbeat.class);
        Class<?> states = Class.forName(StreamsAnswers.STREAMS + "MemberState");
        Object state = states.getMethod("fromValue", byte.class).invoke(null, heartbeat.state());
        Class<?> type = Class.forName(StreamsAnswers.STREAMS + "StreamsGroupMember$Builder");
        Object member = type.getMethod("withDefaults", String.class).invoke(null, "m");
        Reflected.call(member, "setProcessId", "p");
        Reflected.call(member, "setState", state);
        Reflected.call(member, "setMemberEpoch", heartbeat.epoch());
        Reflected.call(member, "setPreviousMemberEpoch", heartbeat.previousEpoch());
        Reflected.call(member, "setAssignedTasks", current(heartbeat.assigned()));
        Reflected.call(member, "setTasksPendingRevocation", current(heartbeat.pending()));
        Object builder = Reflected.make(
                Class.forName(StreamsAnswers.STREAMS + "CurrentAssignmentBuilder"),
                type.getMethod("build").invoke(member));
        builder.getClass().getMethod("withTargetAssignment", int.class, tuple())
                .invoke(builder, heartbeat.targetEpoch(), tasks(heartbeat.target()));
        Holders holders = heartbeat.holders();
        Reflected.call(builder, "withCurrentActiveTaskProcessId", by(holders.active(), null));
        Reflected.call(builder, "withCurrentStandbyTaskProcessIds", by(holders.standby(), Set.of()));
        Reflected.call(builder, "withCurrentWarmupTaskProcessIds", by(holders.warmup(), Set.of()));
        Reflected.call(builder, "withOwnedAssignment", heartbeat.owned() == null ? null : tasks(heartbeat.owned()));
        Object given = Reflected.call(builder, "build");
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        answer.put("state", states.getMethod("value").invoke(Reflected.call(given, "state")));
        answer.put("epoch", Reflected.call(given, "memberEpoch"));
        answer.put("previous_epoch", Reflected.call(given, "previousMemberEpoch"));
        answer.put("assigned", written(Reflected.call(given, "assignedTasks")));
        answer.put("pending", written(Reflected.call(given, "tasksPendingRevocation")));
        return answer;
    }

    private static <T> BiFunction<String, Integer, T> by(Map<String, Map<Integer, T>> holders, T absent) {
        return (subtopology, partition) -> holders.getOrDefault(subtopology, Map.of()).getOrDefault(partition, absent);
    }

    private static Class<?> tuple() throws ClassNotFoundException {
        return Class.forName(StreamsAnswers.STREAMS + "TasksTuple");
    }

    private static Object tasks(Tasks tasks) throws ReflectiveOperationException {
        return Reflected.make(tuple(), StreamsAnswers.sets(tasks.active()),
                StreamsAnswers.sets(tasks.standby()), StreamsAnswers.sets(tasks.warmup()));
    }

    /** Active tasks have epochs since 4.2. */
    private static Object current(CurrentTasks tasks) throws ReflectiveOperationException {
        boolean hasEpochs = !Release.isBefore(4, 2);
        Map<String, Object> active = new HashMap<>();
        tasks.active().forEach((subtopology, epochs) -> active.put(
                subtopology, hasEpochs ? new HashMap<>(epochs) : new HashSet<>(epochs.keySet())));
        Class<?> type = hasEpochs ? Class.forName(StreamsAnswers.STREAMS + "TasksTupleWithEpochs") : tuple();
        return Reflected.make(
                type, active, StreamsAnswers.sets(tasks.standby()), StreamsAnswers.sets(tasks.warmup()));
    }

    private static Map<String, Object> written(Object tasks) throws ReflectiveOperationException {
        boolean hasEpochs = !Release.isBefore(4, 2);
        Map<String, Object> active = new TreeMap<>();
        Object ofMember = Reflected.call(tasks, hasEpochs ? "activeTasksWithEpochs" : "activeTasks");
        ((Map<?, ?>) ofMember).forEach((subtopology, partitions) -> active.put((String) subtopology,
                hasEpochs ? new TreeMap<>((Map<?, ?>) partitions) : new TreeSet<>((Set<?>) partitions)));
        return Map.of("active", active,
                "standby", StreamsAnswers.sorted(Reflected.call(tasks, "standbyTasks")),
                "warmup", StreamsAnswers.sorted(Reflected.call(tasks, "warmupTasks")));
    }
}
