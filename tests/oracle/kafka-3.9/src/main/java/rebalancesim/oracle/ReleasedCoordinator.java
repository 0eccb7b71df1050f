package rebalancesim.oracle;

import kafka.coordinator.group.DelayedHeartbeat;
import kafka.coordinator.group.DelayedRebalance;
import kafka.coordinator.group.GroupConfig;
import kafka.coordinator.group.GroupCoordinatorAdapter;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadataManager;
import kafka.log.UnifiedLog;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.OffsetConfig;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

/** The coordinator in Scala of Kafka 3.9, behind the adapter through which the broker asks it. */
final class ReleasedCoordinator extends ServiceCoordinator {
    private static final int BROKER_ID = 0;
    private static final short ALL_REPLICAS = -1;
    private static final int MAX_SESSION_TIMEOUT_MS = 1_800_000;

    private final GroupMetadataManager groups;
    private final GroupCoordinatorAdapter service;

    ReleasedCoordinator(CoordinatorConfig settings) {
        super(new OffsetsLog(UnifiedLog.class, records -> new FetchDataInfo(new LogOffsetMetadata(0), records)));
        Time time = clock.asTime();
        GroupConfig groupConfig = new GroupConfig(settings.minSessionTimeoutOrDefault(),
                settings.maxSessionTimeoutOr(MAX_SESSION_TIMEOUT_MS), settings.groupMaxSizeOrDefault(),
                settings.initialRebalanceDelayOrDefault());
        OffsetConfig offsetConfig = new OffsetConfig(GroupCoordinatorConfig.OFFSET_METADATA_MAX_SIZE_DEFAULT,
                GroupCoordinatorConfig.OFFSETS_LOAD_BUFFER_SIZE_DEFAULT,
                GroupCoordinatorConfig.OFFSETS_RETENTION_MINUTES_DEFAULT * 60_000L, CoordinatorConfig.NEVER_MS, 1,
                GroupCoordinatorConfig.OFFSETS_TOPIC_SEGMENT_BYTES_DEFAULT, (short) 1, CompressionType.NONE,
                GroupCoordinatorConfig.OFFSET_COMMIT_TIMEOUT_MS_DEFAULT, ALL_REPLICAS);
        Metrics metrics = new Metrics();
        groups = new GroupMetadataManager(
                BROKER_ID, MetadataVersion.latestProduction(), offsetConfig, log.replicaManager(), time, metrics);
        ScalaState.setScheduler(groups, new SameThreadScheduler());
        DelayedOperationPurgatory<DelayedHeartbeat> heartbeats = purgatory("Heartbeat");
        DelayedOperationPurgatory<DelayedRebalance> rebalances = purgatory("Rebalance");
        service = new GroupCoordinatorAdapter(new kafka.coordinator.group.GroupCoordinator(
                BROKER_ID, groupConfig, offsetConfig, groups, heartbeats, rebalances, time, metrics), time);
        service.startup(() -> 1);
        load();
    }

    private <T extends DelayedOperation> DelayedOperationPurgatory<T> purgatory(String name) {
        return new DelayedOperationPurgatory<>(name, timer, BROKER_ID, 1000, false, true);
    }

    @Override
    GroupCoordinator service() {
        return service;
    }

    @Override
    int partition() {
        return service.partitionFor(GROUP_ID);
    }

    @Override
    boolean isLoaded() {
        return groups.isPartitionOwned(partition()) && !groups.isPartitionLoading(partition());
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
        return group == null ? null : ScalaState.shown(group, protocol(group), group.numPending());
    }

    private static String protocol(GroupMetadata group) {
        return group.protocolName().isEmpty() ? null : group.protocolName().get();
    }
}
