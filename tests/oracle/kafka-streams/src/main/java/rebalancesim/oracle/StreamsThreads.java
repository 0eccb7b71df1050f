package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor;

/** How a process distributes its tasks over its threads ({@code StreamsPartitionAssignor.computeNewAssignment}). */
final class StreamsThreads {
    private StreamsThreads() {
    }

    /** Active and standby tasks of each thread, in the order in which they were assigned. */
    static Map<String, Object> of(Object state, StreamsCase.Client client) throws Exception {
        TreeSet<String> consumers = new TreeSet<>();
        client.consumers().forEach(consumer -> consumers.add(consumer.id()));
        Object stateful = Reflected.call(state, "statefulActiveTasks");
        Object stateless = Reflected.call(state, "statelessActiveTasks");
        Object standby = Reflected.call(state, "standbyTasks");
        Map<String, List<TaskId>> active;
        Map<String, List<TaskId>> standbys;
        if (Release.isBefore(3, 2)) {
            active = assigned(stateful, stateless, consumers, state);
            standbys = assigned(standby, Collections.emptySet(), consumers, state);
        } else {
            Map<String, Integer> load = new HashMap<>();
            active = assigned(stateful, true, consumers, state, load);
            standbys = assigned(standby, true, consumers, state, load);
            assigned(stateless, false, consumers, state, load).forEach((id, tasks) -> active.get(id).addAll(tasks));
        }
        List<Object> threads = new ArrayList<>();
        for (String id : consumers) {
            Map<String, Object> thread = new LinkedHashMap<>();
            thread.put("id", id);
            thread.put("active", texts(active.get(id)));
            thread.put("standby", texts(standbys.get(id)));
            threads.add(thread);
        }
        return Map.of("threads", threads);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, List<TaskId>> assigned(Object... given) throws Exception {
        return (Map<String, List<TaskId>>)
                Reflected.callStatic(StreamsPartitionAssignor.class, "assignTasksToThreads", given);
    }

    private static List<String> texts(Collection<TaskId> tasks) {
        return tasks.stream().map(TaskId::toString).toList();
    }
}
