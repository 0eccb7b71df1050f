package rebalancesim.oracle;

import com.yammer.metrics.core.MetricsRegistry;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.CoordinatorContexts;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorParts;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;

/** The coordinator of Kafka 4.x: its service and its runtime, with events in one thread and a log in memory. */
final class ReleasedCoordinator extends ServiceCoordinator {
    private static final TopicPartition PARTITION = new TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, 0);
    private static final int MAX_SESSION_TIMEOUT_MS = 1_800_000;
    /** Any time: no broker's clock shows 0, which the coordinator takes for a time that it does not know. */
    private static final long START_MS = 1_700_000_000_000L;
    private static final Duration WRITE_TIMEOUT = Duration.ofMillis(CoordinatorConfig.NEVER_MS);

    private static final String METADATA_CLASSES =
            "org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadata";
    private static final short HEARTBEAT_VERSION = 1;
    private TopicsImage topics = TopicsImage.EMPTY;
    private final CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime;
    private final GroupCoordinatorService service;
    /** Null until a case asks about streams groups. */
    private StreamsRequests streams;

    ReleasedCoordinator(CoordinatorConfig settings) {
        super(new OffsetsLog());
        AbstractConfig broker = brokerConfig(settings);
        GroupCoordinatorConfig config = new GroupCoordinatorConfig(broker);
        GroupConfigManager groupConfigs =
                Matching.construct(GroupConfigManager.class, Map.of(), config, new ShareGroupConfig(broker));
        GroupCoordinatorMetrics metrics = new GroupCoordinatorMetrics(new MetricsRegistry(), new Metrics());
        runtime = runtime(config, groupConfigs, metrics);
        service = Matching.construct(GroupCoordinatorService.class,
                config, runtime, metrics, groupConfigs, timer, persister());
        service.startup(() -> 1);
        load();
    }

    private CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime(
            GroupCoordinatorConfig config, GroupConfigManager groupConfigs, GroupCoordinatorMetrics metrics) {
        var builder = new CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord>()
                .withTime(clock.asTimeSince(START_MS))
                .withTimer(timer)
                .withEventProcessor(new EventQueue())
                .withPartitionWriter(log.asWriter())
                .withLoader(log)
                .withCoordinatorShardBuilderSupplier(() -> shardBuilder(config, groupConfigs))
                .withCoordinatorRuntimeMetrics(noMetrics())
                .withCoordinatorMetrics(metrics)
                .withSerializer(new GroupCoordinatorRecordSerde())
                .withCompression(Compression.NONE)
                .withExecutorService(ForkJoinPool.commonPool());
        // A held write ends when the case says so, and not by itself.
        Matching.call(builder, List.of("withDefaultWriteTimeOut", "withWriteTimeout"), WRITE_TIMEOUT);
        Matching.call(builder, List.of("withAppendLingerMs"), 0, OptionalInt.of(0));
        if (!Release.isBefore(4, 3)) {
            Supplier<Integer> maxBytes = () -> Integer.MAX_VALUE;
            Matching.call(builder, List.of("withCachedBufferMaxBytesSupplier"), maxBytes);
        }
        return builder.build();
    }

    private static GroupCoordinatorShard.Builder shardBuilder(
            GroupCoordinatorConfig config, GroupConfigManager groupConfigs) {
        var builder = new GroupCoordinatorShard.Builder(config, groupConfigs);
        Matching.call(builder, List.of("withAuthorizer", "withAuthorizerPlugin"), Optional.empty());
        return builder;
    }

    private static AbstractConfig brokerConfig(CoordinatorConfig settings) {
        ConfigDef definition = new ConfigDef();
        Stream.of(GroupCoordinatorConfig.class, ShareGroupConfig.class)
                .flatMap(ReleasedCoordinator::definitions)
                .forEach(part -> part.configKeys().forEach((name, key) -> {
                    if (!definition.names().contains(name)) {
                        definition.define(key);
                    }
                }));
        Map<String, Object> values = new HashMap<>();
        values.put(GroupCoordinatorConfig.GROUP_INITIAL_REBALANCE_DELAY_MS_CONFIG,
                settings.initialRebalanceDelayOrDefault());
        values.put(GroupCoordinatorConfig.GROUP_MAX_SIZE_CONFIG, settings.groupMaxSizeOrDefault());
        values.put(GroupCoordinatorConfig.GROUP_MIN_SESSION_TIMEOUT_MS_CONFIG, settings.minSessionTimeoutOrDefault());
        values.put(GroupCoordinatorConfig.GROUP_MAX_SESSION_TIMEOUT_MS_CONFIG,
                settings.maxSessionTimeoutOr(MAX_SESSION_TIMEOUT_MS));
        values.put(GroupCoordinatorConfig.CONSUMER_GROUP_MAX_SIZE_CONFIG, settings.consumerGroupMaxSizeOrDefault());
        // Releases before 4.3 do not know it, and ignore it.
        values.put("group.consumer.assignment.interval.ms", settings.assignmentIntervalOrDefault());
        values.put(GroupCoordinatorConfig.OFFSETS_RETENTION_CHECK_INTERVAL_MS_CONFIG, CoordinatorConfig.NEVER_MS);
        values.put("group.share.assignment.interval.ms", settings.assignmentIntervalOrDefault());
        values.put("group.streams.assignment.interval.ms", settings.assignmentIntervalOrDefault());
        values.put("group.streams.initial.rebalance.delay.ms", settings.initialRebalanceDelayOrDefault());
        values.put("group.streams.max.size", settings.consumerGroupMaxSizeOrDefault());
        values.put("group.streams.num.standby.replicas", settings.numStandbyReplicasOrDefault());
        values.put("group.share.max.size", settings.consumerGroupMaxSizeOr(200));
        return new AbstractConfig(definition, values, false);
    }

    /** Before 4.1 the definition of the settings has several parts. */
    private static Stream<ConfigDef> definitions(Class<?> settings) {
        return Arrays.stream(settings.getFields())
                .filter(field -> field.getType() == ConfigDef.class)
                .map(field -> (ConfigDef) Reflected.unwrapped(() -> field.get(null)));
    }

    private static CoordinatorRuntimeMetrics noMetrics() {
        Class<?>[] interfaces = {CoordinatorRuntimeMetrics.class};
        return (CoordinatorRuntimeMetrics) Proxy.newProxyInstance(
                CoordinatorRuntimeMetrics.class.getClassLoader(), interfaces, (proxy, method, arguments) -> null);
    }

    @Override
    GroupCoordinator service() {
        return service;
    }

    @Override
    int partition() {
        return PARTITION.partition();
    }

    @Override
    boolean isLoaded() {
        return CoordinatorContexts.isActive(runtime, PARTITION);
    }

    @Override
    void finishStore() {
        if (!log.isWaiting()) {
            return;
        }
        if (log.error() != Errors.NONE && isLoaded()) {
            CoordinatorContexts.failWaiting(runtime, PARTITION, log.error().exception());
        }
        log.replicate(PARTITION);
    }

    @Override
    void checkOffsets() {
        CoordinatorRuntime.CoordinatorWriteOperation<GroupCoordinatorShard, Void, CoordinatorRecord> check =
                GroupCoordinatorShard::cleanupGroupMetadata;
        Matching.call(runtime, List.of("scheduleWriteOperation"), "check-offsets", PARTITION, WRITE_TIMEOUT, check);
    }

    @Override
    void consumerHeartbeat(Request request) {
        CoordinatorStep step = request.step();
        var data = new ConsumerGroupHeartbeatRequestData()
                .setGroupId(GROUP_ID)
                .setMemberId(request.memberId())
                .setMemberEpoch(request.memberEpoch())
                .setInstanceId(step.instanceId())
                .setSubscribedTopicNames(step.subscription())
                .setServerAssignor(step.serverAssignor())
                .setTopicPartitions(topics.requestOf(request.owned()));
        if (step.rebalanceTimeoutMs() != null) {
            data.setRebalanceTimeoutMs(step.rebalanceTimeoutMs());
        }
        service.consumerGroupHeartbeat(
                context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, HEARTBEAT_VERSION, step.clientIdOrDefault()), data)
                .whenComplete(answering(request, beaten -> request.answerConsumerHeartbeat(
                        Errors.forCode(beaten.errorCode()), beaten.memberId(), beaten.memberEpoch(),
                        beaten.heartbeatIntervalMs(), topics.assigned(beaten.assignment()))));
    }

    @Override
    void shareHeartbeat(Request request) {
        CoordinatorStep step = request.step();
        var data = new ShareGroupHeartbeatRequestData()
                .setGroupId(GROUP_ID)
                .setMemberId(request.memberId())
                .setMemberEpoch(request.memberEpoch())
                .setSubscribedTopicNames(step.subscription());
        service.shareGroupHeartbeat(
                context(ApiKeys.SHARE_GROUP_HEARTBEAT, HEARTBEAT_VERSION, step.clientIdOrDefault()), data)
                .whenComplete(answering(request, beaten -> request.answerConsumerHeartbeat(
                        Errors.forCode(beaten.errorCode()), beaten.memberId(), beaten.memberEpoch(),
                        beaten.heartbeatIntervalMs(), topics.assigned(beaten.assignment()))));
    }

    @Override
    void streamsHeartbeat(Request request) {
        if (streams == null) {
            streams = StreamsRequests.ofRelease();
        }
        streams.heartbeat(service, request);
    }

    /** What keeps the states of share partitions: it initializes them at once. Before 4.1 the coordinator has none. */
    private static Object persister() {
        if (Release.isBefore(4, 1)) {
            return List.of();
        }
        return Reflected.make(Reflected.type("org.apache.kafka.server.share.persister.NoOpStatePersister"));
    }

    @Override
    void topics(List<CoordinatorStep.Topic> newTopics) {
        topics = topics.followedBy(newTopics);
        Matching.call(runtime, List.of("onNewMetadataImage", "onMetadataUpdate"),
                forCoordinator("Image", topics.image()), forCoordinator("Delta", topics.changes()));
    }

    /** Since 4.2 the coordinator sees the cluster's metadata through an interface of its own. */
    private static Object forCoordinator(String kind, Object metadata) {
        if (Release.isBefore(4, 2)) {
            return metadata;
        }
        return Matching.construct(Reflected.type(METADATA_CLASSES + kind), metadata);
    }

    @Override
    void nameTopicIds(OffsetCommitRequestData commit) {
        if (Release.isBefore(4, 1)) {
            return;
        }
        commit.topics().forEach(topic -> {
            Uuid id = topics.idOf(topic.name());
            if (id != null) {
                Matching.call(topic, List.of("setTopicId"), id);
            }
        });
    }

    @Override
    ConsumerGroup consumerGroup() {
        var found = groupOf();
        if (found instanceof ShareGroup group) {
            return ConsumerGroups.shown(group, topics);
        }
        if (streams != null && streams.shown(found) != null) {
            return streams.shown(found);
        }
        return found instanceof org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup group
                ? ConsumerGroups.shown(group, topics) : null;
    }

    private org.apache.kafka.coordinator.group.Group groupOf() {
        GroupCoordinatorShard shard = CoordinatorContexts.shard(runtime, PARTITION);
        return shard == null ? null : GroupCoordinatorParts.group(shard, GROUP_ID);
    }

    @Override
    Group group() {
        ClassicGroup group = (ClassicGroup) groupOf();
        if (group == null) {
            return null;
        }
        return new Group(group.stateAsString(), group.generationId(), group.leaderOrNull(),
                group.protocolName().orElse(null), group.allMemberIds(), group.numPendingJoinMembers());
    }
}
