package rebalancesim.oracle;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.EagerAssignor;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;

/**
 * A worker of a Connect cluster: Kafka's assignors, and what WorkerCoordinator keeps between two rebalances.
 *
 * <p>The coordinator is made without its constructor, which would connect to brokers; the assignors read four of its
 * fields. Methods whose parameters differ between releases are called by reflection.
 */
final class ConnectWorker {
    private static final String URL = "http://worker:8083/";
    private final WorkerCoordinator coordinator = (WorkerCoordinator) allocated(WorkerCoordinator.class);
    private final IncrementalCooperativeAssignor incremental;
    private final EagerAssignor eager;
    private final Clock clock = new Clock();
    private ExtendedAssignment runs = ExtendedAssignment.empty();
    private int lastCompleted = -1;

    ConnectWorker(int maxDelayMs) throws ReflectiveOperationException {
        incremental = made(IncrementalCooperativeAssignor.class, clock.asTime(), maxDelayMs);
        eager = made(EagerAssignor.class);
    }

    /** Calls the only constructor; its first parameter is a LogContext, whose package is another one since 4.4. */
    private static <T> T made(Class<T> type, Object... arguments) throws ReflectiveOperationException {
        Constructor<?> constructor = type.getConstructors()[0];
        Object[] all = new Object[arguments.length + 1];
        all[0] = constructor.getParameterTypes()[0].getConstructor().newInstance();
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        return type.cast(constructor.newInstance(all));
    }

    /** What the worker sends when it joins. */
    byte[] metadata(String protocol, long offset) throws Exception {
        if (protocol.equals("default")) {
            return ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState(URL, offset)).array();
        }
        ExtendedWorkerState state = new ExtendedWorkerState(URL, offset, runs);
        Method serialize = named(IncrementalCooperativeConnectProtocol.class, "serializeMetadata");
        Object bytes = serialize.getParameterCount() == 1
                ? serialize.invoke(null, state)
                : serialize.invoke(null, state, protocol.equals("sessioned"));
        return ((ByteBuffer) bytes).array();
    }

    /** What the worker assigns as the leader. */
    @SuppressWarnings("unchecked")
    Map<String, ByteBuffer> assign(ConnectAnswers.Rebalance rebalance, List<JoinGroupResponseMember> joined)
            throws Exception {
        clock.set(rebalance.nowMs());
        Reflected.write(coordinator, "configSnapshot", configuration(rebalance));
        Reflected.write(coordinator, "generation", generation(rebalance));
        Reflected.writeIfDeclared(coordinator, "lastCompletedGenerationId", lastCompleted);
        Object assignor = rebalance.protocol().equals("default") ? eager : incremental;
        Method perform = named(assignor.getClass(), "performAssignment");
        Class<?> protocolType = perform.getParameterTypes()[1];
        Object protocol = protocolType == String.class
                ? rebalance.protocol()
                : protocolType.getMethod("fromProtocol", String.class).invoke(null, rebalance.protocol());
        return (Map<String, ByteBuffer>) Reflected.unwrapped(
                () -> perform.invoke(assignor, rebalance.leader(), protocol, joined, coordinator));
    }

    /** The rule alone, as the leader runs it between reading bytes and writing them; since 3.3. */
    Callable<Object> rule(ConnectAnswers.Rebalance rebalance, Map<String, ConnectWorker> workers) throws Exception {
        Method rule = Reflected.method(IncrementalCooperativeAssignor.class, "performTaskAssignment", 4);
        MethodHandle handle = MethodHandles.lookup().unreflect(rule).bindTo(incremental);
        Map<String, Object> run = new LinkedHashMap<>();
        for (String id : rebalance.workers()) {
            ExtendedAssignment of = workers.get(id).runs;
            run.put(id, new ConnectorsAndTasks.Builder().with(of.connectors(), of.tasks()).build());
        }
        Object configuration = configuration(rebalance);
        return () -> {
            try {
                return handle.invoke(configuration, lastCompleted, rebalance.generation(), run);
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        };
    }

    /** What the worker makes of the leader's answer, as WorkerCoordinator.onJoinComplete does. */
    void complete(ConnectAnswers.Rebalance rebalance, ByteBuffer bytes) {
        ExtendedAssignment answer = IncrementalCooperativeConnectProtocol.deserializeAssignment(bytes.duplicate());
        if (!rebalance.protocol().equals("default")) {
            if (runs != ExtendedAssignment.empty()) {
                runs.connectors().removeAll(answer.revokedConnectors());
                runs.tasks().removeAll(answer.revokedTasks());
            }
            answer.connectors().addAll(runs.connectors());
            answer.tasks().addAll(runs.tasks());
        }
        runs = answer;
        lastCompleted = rebalance.generation();
    }

    private static Object configuration(ConnectAnswers.Rebalance rebalance) {
        Class<?> type = Reflected.fieldOrNull(WorkerCoordinator.class, "configSnapshot").getType();
        Object configuration = allocated(type);
        Reflected.write(configuration, "offset", rebalance.offset());
        Reflected.write(configuration, "connectorTaskCounts", rebalance.connectors());
        Map<String, Map<String, String>> configs = new HashMap<>();
        rebalance.connectors().keySet().forEach(name -> configs.put(name, Map.of()));
        Reflected.write(configuration, "connectorConfigs", configs);
        Reflected.write(configuration, "inconsistentConnectors", Set.of());
        return configuration;
    }

    private static Object generation(ConnectAnswers.Rebalance rebalance) {
        Class<?> type = Reflected.fieldOrNull(WorkerCoordinator.class, "generation").getType();
        return Reflected.make(type, rebalance.generation(), rebalance.leader(), rebalance.protocol());
    }

    private static Object allocated(Class<?> type) {
        Class<?> unsafe = Reflected.type("sun.misc.Unsafe");
        return Reflected.unwrapped(() -> unsafe.getMethod("allocateInstance", Class.class)
                .invoke(Reflected.fieldOrNull(unsafe, "theUnsafe").get(null), type));
    }

    private static Method named(Class<?> type, String name) {
        return Stream.of(type.getMethods()).filter(method -> method.getName().equals(name) && !method.isBridge())
                .findFirst().orElseThrow();
    }
}
