package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.streams.processor.TaskId;

/** Which tasks a task assignor gives to each process, and a process to each of its threads. */
final class StreamsTasks {
    private static final String STREAMS = "org.apache.kafka.streams.processor.";
    static final String ASSIGNMENT = STREAMS + "internals.assignment.";
    private static final String PROCESS_ID = STREAMS + "assignment.ProcessId";
    private static final long PROBING_INTERVAL_MS = 600_000L;

    private StreamsTasks() {
    }

    static Map<String, Object> assigned(StreamsCase application) throws Exception {
        Map<Object, Object> clients = new HashMap<>();
        List<Object> states = new ArrayList<>();
        for (StreamsCase.Client client : application.clients()) {
            Object state = state(client, application.stateful());
            states.add(state);
            clients.put(processId(client.process()), state);
        }
        boolean probing = assign(application, clients);
        List<Object> answers = new ArrayList<>();
        for (int i = 0; i < states.size(); i++) {
            answers.add(ofClient(states.get(i), application.clients().get(i)));
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("probing", probing);
        answer.put("clients", answers);
        return answer;
    }

    /** A process is a UUID, since 3.8 in a class of its own. */
    static Object processId(String text) throws Exception {
        UUID id = UUID.fromString(text);
        return Reflected.exists(PROCESS_ID) ? Reflected.make(Class.forName(PROCESS_ID), id) : id;
    }

    static TaskId task(String text) {
        return TaskId.parse(text);
    }

    static Set<TaskId> tasks(Collection<String> texts) {
        Set<TaskId> tasks = new HashSet<>();
        texts.forEach(text -> tasks.add(task(text)));
        return tasks;
    }

    private static Object state(StreamsCase.Client client, List<String> stateful) throws Exception {
        Class<?> type = Class.forName(ASSIGNMENT + "ClientState");
        Object state;
        if (Release.isBefore(3, 2)) {
            state = Reflected.make(type);
        } else if (Release.isBefore(3, 6)) {
            state = type.getConstructor(Map.class).newInstance(client.tags());
        } else {
            Object id = processId(client.process());
            state = type.getConstructor(id.getClass(), Map.class).newInstance(id, client.tags());
        }
        for (StreamsCase.Consumer consumer : client.consumers()) {
            Reflected.call(state, "incrementCapacity");
            Map<TaskId, Long> previous = new HashMap<>();
            consumer.previous().forEach(task -> previous.put(task(task), 0L));
            Reflected.call(state, "addPreviousTasksAndOffsetSums", consumer.id(), previous);
        }
        Reflected.call(state, "addPreviousActiveTasks", tasks(client.previousActive()));
        Reflected.call(state, "addPreviousStandbyTasks", tasks(client.previousStandby()));
        @SuppressWarnings("unchecked")
        Map<TaskId, Long> lags = (Map<TaskId, Long>) Reflected.read(state, "taskLagTotals");
        for (int i = 0; i < stateful.size(); i++) {
            lags.put(task(stateful.get(i)), client.lags().get(i));
        }
        return state;
    }

    static Object assignor(String assignor) {
        String name = switch (assignor) {
            case "high-availability" -> "HighAvailabilityTaskAssignor";
            case "sticky" -> Release.isBefore(3, 8) ? "StickyTaskAssignor" : "LegacyStickyTaskAssignor";
            case "fallback-prior" -> "FallbackPriorTaskAssignor";
            default -> throw new IllegalArgumentException(assignor);
        };
        return Reflected.make(Reflected.type(ASSIGNMENT + name));
    }

    private static boolean assign(StreamsCase application, Map<Object, Object> clients) throws Exception {
        Object assignor = assignor(application.assignor());
        Set<TaskId> all = tasks(application.tasks());
        Set<TaskId> stateful = tasks(application.stateful());
        Object configs = configs(application.settings());
        if (Release.isBefore(3, 6)) {
            return (boolean) Reflected.call(assignor, "assign", clients, all, stateful, configs);
        }
        Object racks = StreamsRacks.assignor(application, configs);
        return (boolean) Reflected.call(assignor, "assign", clients, all, stateful, racks, configs);
    }

    static Object configs(StreamsCase.Settings settings) throws Exception {
        Object[] fields = {settings.acceptableRecoveryLag(), settings.maxWarmupReplicas(),
                settings.numStandbyReplicas(), PROBING_INTERVAL_MS, settings.rackAwareTags(),
                settings.trafficCost(), settings.nonOverlapCost(), settings.strategy()};
        if (Release.isBefore(3, 8)) {
            return Reflected.makeLongest(Class.forName(ASSIGNMENT + "AssignorConfiguration$AssignmentConfigs"), fields);
        }
        fields[5] = optional(settings.trafficCost());
        fields[6] = optional(settings.nonOverlapCost());
        return Class.forName(STREAMS + "assignment.AssignmentConfigs").getConstructor(long.class, int.class, int.class,
                long.class, List.class, OptionalInt.class, OptionalInt.class, String.class).newInstance(fields);
    }

    private static OptionalInt optional(Integer cost) {
        return cost == null ? OptionalInt.empty() : OptionalInt.of(cost);
    }

    private static Map<String, Object> ofClient(Object state, StreamsCase.Client client) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("active", texts(Reflected.call(state, "activeTasks")));
        answer.put("standby", texts(Reflected.call(state, "standbyTasks")));
        answer.putAll(StreamsThreads.of(state, client));
        return answer;
    }

    static List<String> texts(Object tasks) {
        return new TreeSet<>((Collection<TaskId>) tasks).stream().map(TaskId::toString).toList();
    }
}
