package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import kafka.common.OffsetAndMetadata;
import kafka.coordinator.group.GroupConfig;
import kafka.coordinator.group.GroupCoordinator;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadataManager;
import kafka.coordinator.group.JoinGroupResult;
import kafka.coordinator.group.LeaveGroupResult;
import kafka.coordinator.group.LeaveMemberResponse;
import kafka.coordinator.group.OffsetConfig;
import kafka.coordinator.group.SyncGroupResult;
import kafka.message.NoCompressionCodec$;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import kafka.server.FetchDataInfo;
import kafka.server.LogOffsetMetadata;
import kafka.utils.KafkaScheduler;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.OffsetFetchResponse;
import org.apache.kafka.common.utils.Time;
import org.mockito.invocation.InvocationOnMock;
import scala.Function0;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction0;

/**
 * The coordinator in Scala of a release from 2.4 to 3.4, asked as KafkaApis asks it.
 *
 * <p>Methods that gained arguments are called by reflection.
 */
final class ReleasedCoordinator extends Coordinator {
    private static final int BROKER_ID = 0;
    private static final String HOST = "host";
    private static final short ALL_REPLICAS = -1;
    private static final int MAX_METADATA_BYTES = 4096;
    private static final int LOAD_BUFFER_BYTES = 5 * 1024 * 1024;
    private static final int SEGMENT_BYTES = 100 * 1024 * 1024;
    private static final int COMMIT_TIMEOUT_MS = 5000;
    private static final long RETENTION_MS = 7 * 24 * 3_600_000L;
    private static final int MAX_SESSION_TIMEOUT_MS = 1_800_000;
    private static final String UNIFIED_LOG = "kafka.log.UnifiedLog";

    private final GroupMetadataManager groups;
    private final GroupCoordinator coordinator;
    private int epoch;

    ReleasedCoordinator(CoordinatorConfig settings) {
        super(new OffsetsLog(Reflected.type(Reflected.exists(UNIFIED_LOG) ? UNIFIED_LOG : "kafka.log.Log"), records ->
                new FetchDataInfo(new LogOffsetMetadata(0, 0, 0), records, false, Option.empty())));
        Time time = clock.asTime();
        Metrics metrics = new Metrics();
        GroupConfig groupConfig = new GroupConfig(settings.minSessionTimeoutOrDefault(),
                settings.maxSessionTimeoutOr(MAX_SESSION_TIMEOUT_MS), settings.groupMaxSizeOrDefault(),
                settings.initialRebalanceDelayOrDefault());
        OffsetConfig offsetConfig = new OffsetConfig(MAX_METADATA_BYTES, LOAD_BUFFER_BYTES, RETENTION_MS,
                CoordinatorConfig.NEVER_MS, 1, SEGMENT_BYTES, (short) 1, NoCompressionCodec$.MODULE$,
                COMMIT_TIMEOUT_MS, ALL_REPLICAS);
        groups = groups(offsetConfig, time, metrics);
        ScalaState.setScheduler(groups, StandIn.of(KafkaScheduler.class, ReleasedCoordinator::runAtOnce));
        coordinator = new GroupCoordinator(BROKER_ID, groupConfig, offsetConfig, groups, purgatory("Heartbeat"),
                purgatory("Rebalance"), time, metrics);
        startUp();
        load();
    }

    /** Its constructor takes other arguments in other releases, but never two of one type. */
    private GroupMetadataManager groups(OffsetConfig offsetConfig, Time time, Metrics metrics) {
        List<Object> known = new ArrayList<>(List.of(
                BROKER_ID, latestVersion(), offsetConfig, log.replicaManager(), time, metrics));
        if (Release.isBefore(2, 8)) {
            known.add(StandIn.of(Reflected.type("kafka.zk.KafkaZkClient"), ReleasedCoordinator::answerAsZooKeeper));
        }
        Constructor<?> constructor = GroupMetadataManager.class.getConstructors()[0];
        Object[] arguments = Arrays.stream(constructor.getParameterTypes())
                .map(type -> type == int.class ? BROKER_ID : known.stream().filter(type::isInstance).findFirst().get())
                .toArray();
        return (GroupMetadataManager) Reflected.unwrapped(() -> constructor.newInstance(arguments));
    }

    private static Object latestVersion() {
        if (Release.isBefore(3, 3)) {
            return call(staticField("kafka.api.ApiVersion$"), "latestVersion");
        }
        Object[] versions = Reflected.type("org.apache.kafka.server.common.MetadataVersion").getEnumConstants();
        return versions[versions.length - 1];
    }

    private static Object staticField(String module) {
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
        Method method = method(coordinator, "startup");
        Function0<Object> partitions = new AbstractFunction0<>() {
            @Override
            public Object apply() {
                return 1;
            }
        };
        invoke(coordinator, method, method.getParameterCount() == 1 ? List.of(false) : List.of(partitions, false));
    }

    private static Method method(Object target, String... names) {
        for (String name : names) {
            for (Method method : target.getClass().getMethods()) {
                if (method.getName().equals(name)) {
                    return method;
                }
            }
        }
        throw new AssertionError(target.getClass() + " has none of " + List.of(names));
    }

    private static Object call(Object target, String name, Object... arguments) {
        return invoke(target, method(target, name), List.of(arguments));
    }

    private static Object invoke(Object target, Method method, List<?> arguments) {
        return Reflected.unwrapped(() -> method.invoke(target, arguments.toArray()));
    }

    @Override
    void unload() {
        epoch++;
        Method method = method(coordinator, "onResignation", "handleGroupEmigration");
        int partition = coordinator.partitionFor(GROUP_ID);
        boolean takesEpoch = method.getParameterCount() == 2;
        invoke(coordinator, method, takesEpoch ? List.of(partition, new Some<>(epoch)) : List.of(partition));
    }

    @Override
    void load() {
        epoch++;
        Method method = method(coordinator, "onElection", "handleGroupImmigration");
        int partition = coordinator.partitionFor(GROUP_ID);
        boolean takesEpoch = method.getParameterCount() == 2;
        invoke(coordinator, method, takesEpoch ? List.of(partition, epoch) : List.of(partition));
        if (!groups.isPartitionOwned(partition) || groups.isPartitionLoading(partition)) {
            throw new AssertionError("the coordinator does not load");
        }
    }

    @Override
    void join(Request request) {
        CoordinatorStep step = request.step();
        List<Object> arguments = new ArrayList<>(List.of(GROUP_ID, request.memberId(), instanceId(step),
                step.requiresKnownMemberId() && step.instanceId() == null));
        if (!Release.isBefore(3, 2)) {
            arguments.add(step.supportsSkippingAssignment());
        }
        arguments.addAll(List.of(step.clientIdOrDefault(), HOST, step.rebalanceTimeoutOrDefault(),
                step.sessionTimeoutOrDefault(), step.protocolTypeOrDefault(), protocols(step),
                ScalaValues.<JoinGroupResult>callback(joined -> request.answerJoin(joinOf(joined)))));
        if (!Release.isBefore(3, 2)) {
            arguments.add(Option.empty());
        }
        call(coordinator, "handleJoinGroup", withoutCaching(arguments));
    }

    private static Option<String> instanceId(CoordinatorStep step) {
        return Option.apply(step.instanceId());
    }

    private static Object protocols(CoordinatorStep step) {
        return ScalaValues.scalaList(step.protocols().stream()
                .map(protocol -> new Tuple2<>(protocol.get(0), Request.bytes(protocol.get(1))))
                .toList());
    }

    /** Since 3.0 what writes to the log takes a supplier of buffers as well. */
    private static Object[] withoutCaching(List<Object> arguments) {
        if (!Release.isBefore(3, 0)) {
            arguments.add(call(staticField("kafka.server.RequestLocal$"), "NoCaching"));
        }
        return arguments.toArray();
    }

    private static Request.Join joinOf(JoinGroupResult joined) {
        List<Request.Joined> members = new ArrayList<>();
        Iterator<JoinGroupResponseMember> iterator = joined.members().iterator();
        while (iterator.hasNext()) {
            JoinGroupResponseMember member = iterator.next();
            members.add(new Request.Joined(member.memberId(), member.groupInstanceId(), member.metadata()));
        }
        Boolean skips = Release.isBefore(3, 2) ? null : (Boolean) call(joined, "skipAssignment");
        return new Request.Join(joined.error(), joined.memberId(), joined.generationId(),
                text(call(joined, Release.isBefore(2, 5) ? "subProtocol" : "protocolName")), joined.leaderId(), skips,
                members);
    }

    /** A string, or since 2.5 an option of one. */
    private static String text(Object given) {
        if (given instanceof Option<?> option) {
            return option.isEmpty() ? null : (String) option.get();
        }
        return (String) given;
    }

    @Override
    void sync(Request request) {
        CoordinatorStep step = request.step();
        List<Object> arguments = new ArrayList<>(List.of(GROUP_ID, step.generation(), request.memberId()));
        if (!Release.isBefore(2, 5)) {
            arguments.addAll(List.of(Option.apply(step.protocolType()), Option.apply(step.protocol())));
        }
        arguments.addAll(List.of(instanceId(step), ScalaValues.scalaMap(request.assignments()),
                ScalaValues.<SyncGroupResult>callback(synced ->
                        request.answerSync(synced.error(), synced.memberAssignment()))));
        call(coordinator, "handleSyncGroup", withoutCaching(arguments));
    }

    @Override
    void heartbeat(Request request) {
        CoordinatorStep step = request.step();
        coordinator.handleHeartbeat(GROUP_ID, request.memberId(), instanceId(step), step.generation(),
                ScalaValues.callback(request::answer));
    }

    @Override
    void leave(Request request) {
        List<MemberIdentity> leavers = request.step().members().stream()
                .map(leaver -> new MemberIdentity()
                        .setMemberId(request.memberId(leaver))
                        .setGroupInstanceId(leaver.instanceId()))
                .toList();
        coordinator.handleLeaveGroup(GROUP_ID, ScalaValues.scalaList(leavers),
                ScalaValues.<LeaveGroupResult>callback(left ->
                        request.answerLeave(left.topLevelError(), membersOf(left))));
    }

    private static List<Request.Left> membersOf(LeaveGroupResult left) {
        List<Request.Left> members = new ArrayList<>();
        Iterator<LeaveMemberResponse> iterator = left.memberResponses().iterator();
        while (iterator.hasNext()) {
            LeaveMemberResponse member = iterator.next();
            members.add(new Request.Left(member.memberId(), member.error()));
        }
        return members;
    }

    @Override
    void commit(Request request) {
        CoordinatorStep step = request.step();
        long nowMs = nowMs();
        Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
        step.offsetsToCommit().forEach(of -> offsets.put(of.partition(),
                new OffsetAndMetadata(of.offset(), Optional.empty(), "", nowMs, Option.empty())));
        call(coordinator, "handleCommitOffsets", withoutCaching(new ArrayList<>(List.of(GROUP_ID, request.memberId(),
                instanceId(step), step.generation(), ScalaValues.scalaMap(offsets),
                ScalaValues.<scala.collection.immutable.Map<TopicPartition, Errors>>callback(errors ->
                        request.answerCommit(ScalaValues.javaMap(errors, error -> error)))))));
    }

    @Override
    void fetch(Request request) {
        Some<Object> asked = new Some<>(ScalaValues.scalaList(request.step().topics()));
        List<Object> arguments = Release.isBefore(2, 5) ? List.of(GROUP_ID, asked) : List.of(GROUP_ID, false, asked);
        @SuppressWarnings("unchecked")
        var answer = (Tuple2<Errors, scala.collection.Map<TopicPartition, OffsetFetchResponse.PartitionData>>)
                call(coordinator, "handleFetchOffsets", arguments.toArray());
        request.answerFetch(answer._1(), ScalaValues.javaMap(answer._2(), data -> data.offset));
    }

    @Override
    void finishStore() {
        log.finish();
    }

    @Override
    void checkOffsets() {
        groups.cleanupGroupMetadata();
    }

    @Override
    Group group() {
        GroupMetadata group = ScalaState.group(groups);
        if (group == null) {
            return null;
        }
        String protocol = text(call(group, Release.isBefore(2, 5) ? "protocolOrNull" : "protocolName"));
        return ScalaState.shown(group, protocol, group.numPending());
    }
}
