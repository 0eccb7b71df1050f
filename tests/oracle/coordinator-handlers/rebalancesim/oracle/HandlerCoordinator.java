package rebalancesim.oracle;

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
import kafka.log.Log;
import kafka.message.NoCompressionCodec$;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import kafka.server.FetchDataInfo;
import kafka.server.LogOffsetMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.OffsetFetchResponse;
import org.mockito.invocation.InvocationOnMock;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What the coordinators in Scala have in common that the broker asks through their handlers, without an adapter. */
abstract class HandlerCoordinator extends Coordinator {
    static final int BROKER_ID = 0;
    static final String HOST = "host";
    private static final short ALL_REPLICAS = -1;
    private static final int MAX_METADATA_BYTES = 4096;
    private static final int LOAD_BUFFER_BYTES = 5 * 1024 * 1024;
    private static final int SEGMENT_BYTES = 100 * 1024 * 1024;
    private static final int COMMIT_TIMEOUT_MS = 5000;

    final GroupMetadataManager groups;
    final GroupCoordinator coordinator;

    HandlerCoordinator(CoordinatorConfig settings, long retentionMs) {
        super(new OffsetsLog(Log.class, records ->
                new FetchDataInfo(new LogOffsetMetadata(0, 0, 0), records, false, Option.empty())));
        OffsetConfig offsetConfig = new OffsetConfig(MAX_METADATA_BYTES, LOAD_BUFFER_BYTES, retentionMs,
                CoordinatorConfig.NEVER_MS, 1, SEGMENT_BYTES, (short) 1, NoCompressionCodec$.MODULE$,
                COMMIT_TIMEOUT_MS, ALL_REPLICAS);
        groups = groups(offsetConfig);
        coordinator = new GroupCoordinator(BROKER_ID, groupConfig(settings), offsetConfig, groups,
                purgatory("Heartbeat"), purgatory("Rebalance"), clock.asTime());
        ScalaState.setScheduler(groups, new SameThreadScheduler());
        coordinator.startup(false);
        load();
    }

    /** The constructors of both have other arguments in every release. */
    abstract GroupMetadataManager groups(OffsetConfig offsetConfig);

    abstract GroupConfig groupConfig(CoordinatorConfig settings);

    /** ZooKeeper knows no offsets topic yet: its partitions are as many as the broker's settings say. */
    static Object answerAsZooKeeper(InvocationOnMock call) {
        boolean asksForPartitions = call.getMethod().getName().equals("getTopicPartitionCount");
        return asksForPartitions ? Option.empty() : StandIn.other(call);
    }

    private <T extends DelayedOperation> DelayedOperationPurgatory<T> purgatory(String name) {
        return new DelayedOperationPurgatory<>(name, timer, BROKER_ID, 1000, false, true);
    }

    @Override
    final void unload() {
        coordinator.handleGroupEmigration(coordinator.partitionFor(GROUP_ID));
    }

    @Override
    final void load() {
        int partition = coordinator.partitionFor(GROUP_ID);
        coordinator.handleGroupImmigration(partition);
        if (!groups.isPartitionOwned(partition) || groups.isPartitionLoading(partition)) {
            throw new AssertionError("the coordinator does not load");
        }
    }

    @Override
    final void leave(Request request) {
        List<CoordinatorStep.Leaver> leavers = request.step().members();
        if (leavers.size() != 1 || leavers.get(0).instanceId() != null) {
            throw new UnsupportedOperationException("leaves are of one member, named by its id, before 2.4");
        }
        coordinator.handleLeaveGroup(GROUP_ID, request.memberId(leavers.get(0)), ScalaValues.callback(request::answer));
    }

    @Override
    final void fetch(Request request) {
        var asked = ScalaValues.scalaList(request.step().topics());
        var answer = coordinator.handleFetchOffsets(GROUP_ID, new Some<>(asked));
        request.answerFetch(answer._1(), ScalaValues.javaMap(answer._2(), HandlerCoordinator::offset));
    }

    private static long offset(OffsetFetchResponse.PartitionData data) {
        return data.offset;
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

    /** The number of generated ids that have not joined yet. */
    abstract int pending(GroupMetadata group);

    @Override
    final Group group() {
        GroupMetadata group = ScalaState.group(groups);
        return group == null ? null : ScalaState.shown(group, group.protocolOrNull(), pending(group));
    }
}
