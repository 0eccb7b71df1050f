package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import kafka.common.OffsetAndMetadata;
import kafka.coordinator.group.GroupConfig;
import kafka.coordinator.group.GroupCoordinator;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadataManager;
import kafka.coordinator.group.OffsetConfig;
import kafka.message.NoCompressionCodec$;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import kafka.server.FetchDataInfo;
import kafka.server.LogOffsetMetadata;
import kafka.utils.KafkaScheduler;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.OffsetFetchResponse;
import org.apache.kafka.common.utils.Time;
import org.mockito.invocation.InvocationOnMock;
import scala.Function0;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The coordinators in Scala up to 3.4, asked as KafkaApis asks them: through their handlers, without an adapter.
 *
 * <p>Methods that have other arguments in other releases are called by reflection.
 */
abstract class HandlerCoordinator extends Coordinator {
    static final String HOST = "host";
    /** The broker's default, which is not always that of the class. */
    static final long RETENTION_MS = (Release.isBefore(2, 0) ? 1 : 7) * 24 * 3_600_000L;
    private static final int MAX_SESSION_TIMEOUT_MS = Release.isBefore(2, 3) ? 300_000 : 1_800_000;
    private static final int BROKER_ID = 0;
    private static final short ALL_REPLICAS = -1;
    private static final int MAX_METADATA_BYTES = 4096;
    private static final int LOAD_BUFFER_BYTES = 5 * 1024 * 1024;
    private static final int SEGMENT_BYTES = 100 * 1024 * 1024;
    private static final int COMMIT_TIMEOUT_MS = 5000;
    private static final String LOG = newest("kafka.log.UnifiedLog", "kafka.log.Log");
    private static final String ZOOKEEPER = newest("kafka.zk.KafkaZkClient", "kafka.utils.ZkUtils");

    final GroupCoordinator coordinator;
    private final GroupMetadataManager groups;
    private int epoch;

    HandlerCoordinator(CoordinatorConfig settings) {
        super(new OffsetsLog(Reflected.type(LOG), records ->
                new FetchDataInfo(new LogOffsetMetadata(0, 0, 0), records, false, Option.empty())));
        Time time = clock.asTime();
        Metrics metrics = new Metrics();
        OffsetConfig offsetConfig = new OffsetConfig(MAX_METADATA_BYTES, LOAD_BUFFER_BYTES, RETENTION_MS,
                CoordinatorConfig.NEVER_MS, 1, SEGMENT_BYTES, (short) 1, NoCompressionCodec$.MODULE$,
                COMMIT_TIMEOUT_MS, ALL_REPLICAS);
        groups = groups(offsetConfig, time, metrics);
        ScalaState.setScheduler(groups, StandIn.of(KafkaScheduler.class, HandlerCoordinator::runAtOnce));
        coordinator = (GroupCoordinator) Reflected.makeLongest(GroupCoordinator.class, BROKER_ID, groupConfig(settings),
                offsetConfig, groups, purgatory("Heartbeat"), purgatory("Rebalance"), time, metrics);
        startUp();
        load();
    }

    private static String newest(String name, String before) {
        return Reflected.exists(name) ? name : before;
    }

    private static Object groupConfig(CoordinatorConfig settings) {
        int least = settings.minSessionTimeoutOrDefault();
        int most = settings.maxSessionTimeoutOr(MAX_SESSION_TIMEOUT_MS);
        int delay = settings.initialRebalanceDelayOrDefault();
        return Release.isBefore(2, 2) ? Reflected.make(GroupConfig.class, least, most, delay)
                : Reflected.make(GroupConfig.class, least, most, settings.groupMaxSizeOrDefault(), delay);
    }

    /** Its constructor takes other arguments in other releases, but never two of one type. */
    private GroupMetadataManager groups(OffsetConfig offsetConfig, Time time, Metrics metrics) {
        List<Object> known = new ArrayList<>(List.of(
                BROKER_ID, latestVersion(), offsetConfig, log.replicaManager(), time, metrics));
        if (Release.isBefore(2, 8)) {
            known.add(StandIn.of(Reflected.type(ZOOKEEPER), HandlerCoordinator::answerAsZooKeeper));
        }
        Constructor<?> constructor = GroupMetadataManager.class.getConstructors()[0];
        Object[] arguments = Arrays.stream(constructor.getParameterTypes())
                .map(type -> type == int.class ? BROKER_ID : known.stream().filter(type::isInstance).findFirst().get())
                .toArray();
        return (GroupMetadataManager) Reflected.unwrapped(() -> constructor.newInstance(arguments));
    }

    private static Object latestVersion() {
        if (Release.isBefore(3, 3)) {
            return Reflected.call(staticField("kafka.api.ApiVersion$"), "latestVersion");
        }
        Object[] versions = Reflected.type("org.apache.kafka.server.common.MetadataVersion").getEnumConstants();
        return versions[versions.length - 1];
    }

    static Object staticField(String module) {
        return Reflected.unwrapped(() -> Class.forName(module).getField("MODULE$").get(null));
    }

    /** ZooKeeper knows no offsets topic yet: its partitions are as many as the broker's settings say. */
    private static Object answerAsZooKeeper(InvocationOnMock call) {
        boolean asksForPartitions = call.getMethod().getName().equals("getTopicPartitionCount");
        return asksForPartitions ? Option.empty() : StandIn.other(call);
    }

    /** Runs at once what the coordinator leaves to a thread of its own: the loading and unloading of partitions. */
    private static Object runAtOnce(InvocationOnMock call) {
        return switch (call.getMethod().getName()) {
            case "schedule" -> {
                call.<Function0<?>>getArgument(1).apply();
                yield null;
            }
            case "startup" -> null;
            default -> call.getMethod().getReturnType() == long.class ? 0L : StandIn.other(call);
        };
    }

    private <T extends DelayedOperation> DelayedOperationPurgatory<T> purgatory(String name) {
        return new DelayedOperationPurgatory<>(name, timer, BROKER_ID, 1000, false, true);
    }

    private void startUp() {
        if (Reflected.methodOrNull(GroupCoordinator.class, "startup", 1) != null) {
            Reflected.call(coordinator, "startup", false);
            return;
        }
        Function0<Object> partitions = new AbstractFunction0<>() {
            @Override
            public Object apply() {
                return 1;
            }
        };
        Reflected.call(coordinator, "startup", partitions, false);
    }

    @Override
    final void unload() {
        epoch++;
        move(List.of("onResignation", "handleGroupEmigration"), new Some<>(epoch));
    }

    @Override
    final void load() {
        epoch++;
        int partition = move(List.of("onElection", "handleGroupImmigration"), epoch);
        if (!groups.isPartitionOwned(partition) || groups.isPartitionLoading(partition)) {
            throw new AssertionError("the coordinator does not load");
        }
    }

    /** Calls the method that has one of these names, which takes the epoch in some releases; returns the partition. */
    private int move(List<String> names, Object ofEpoch) {
        Method method = Arrays.stream(GroupCoordinator.class.getMethods())
                .filter(candidate -> names.contains(candidate.getName())).findFirst().orElseThrow();
        int partition = coordinator.partitionFor(GROUP_ID);
        Object[] arguments = Arrays.copyOf(new Object[] {partition, ofEpoch}, method.getParameterCount());
        Reflected.unwrapped(() -> method.invoke(coordinator, arguments));
        return partition;
    }

    @Override
    void leave(Request request) {
        List<CoordinatorStep.Leaver> leavers = request.step().members();
        if (leavers.size() != 1 || leavers.get(0).instanceId() != null) {
            throw new UnsupportedOperationException("leaves are of one member, named by its id, before 2.4");
        }
        Reflected.call(coordinator, "handleLeaveGroup", GROUP_ID, request.memberId(leavers.get(0)),
                ScalaValues.<Errors>callback(request::answer));
    }

    @Override
    final void fetch(Request request) {
        Some<Object> asked = new Some<>(ScalaValues.scalaList(request.step().topics()));
        List<Object> arguments = Release.isBefore(2, 5) ? List.of(GROUP_ID, asked) : List.of(GROUP_ID, false, asked);
        @SuppressWarnings("unchecked")
        var answer = (Tuple2<Errors, scala.collection.Map<TopicPartition, OffsetFetchResponse.PartitionData>>)
                Reflected.call(coordinator, "handleFetchOffsets", arguments.toArray());
        request.answerFetch(answer._1(), ScalaValues.javaMap(answer._2(), data -> data.offset));
    }

    static AbstractFunction1<scala.collection.immutable.Map<TopicPartition, Errors>, BoxedUnit> committed(
            Request request) {
        return ScalaValues.callback(errors -> request.answerCommit(ScalaValues.javaMap(errors, error -> error)));
    }

    static scala.collection.immutable.Map<TopicPartition, OffsetAndMetadata> offsets(
            Request request, LongFunction<OffsetAndMetadata> stored) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
        request.step().offsetsToCommit().forEach(of -> offsets.put(of.partition(), stored.apply(of.offset())));
        return ScalaValues.scalaMap(offsets);
    }

    static scala.collection.immutable.List<Tuple2<String, byte[]>> protocols(Request request) {
        return ScalaValues.scalaList(request.step().protocols().stream()
                .map(protocol -> new Tuple2<>(protocol.get(0), Request.bytes(protocol.get(1))))
                .toList());
    }

    @Override
    final void finishStore() {
        log.finish();
    }

    @Override
    final void checkOffsets() {
        groups.cleanupGroupMetadata();
    }

    @Override
    final Group group() {
        GroupMetadata group = ScalaState.group(groups);
        if (group == null) {
            return null;
        }
        String protocol = text(Reflected.call(group, Release.isBefore(2, 5) ? "protocolOrNull" : "protocolName"));
        int pending = Release.isBefore(2, 2) ? 0 : (int) Reflected.call(group, "numPending");
        return ScalaState.shown(group, protocol, pending);
    }

    /** A string, or since 2.5 an option of one. */
    static String text(Object given) {
        if (given instanceof Option<?> option) {
            return option.isEmpty() ? null : (String) option.get();
        }
        return (String) given;
    }
}
