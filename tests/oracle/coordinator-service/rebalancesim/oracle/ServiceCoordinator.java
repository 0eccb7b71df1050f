package rebalancesim.oracle;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.coordinator.group.GroupCoordinator;

/** What is asked of the interface GroupCoordinator, behind which the brokers since 3.5 have their coordinator. */
abstract class ServiceCoordinator extends Coordinator {
    /** Versions of requests as consumers of the classic protocol send them; of a join the step says what matters. */
    private static final short HEARTBEAT_VERSION = 4;
    private static final short SYNC_VERSION = 5;
    private static final short LEAVE_VERSION = 5;
    private static final short COMMIT_VERSION = 8;
    private static final short FETCH_VERSION = 8;
    /** Of a commit that names a member epoch and, since 4.1, topic ids. */
    private static final short COMMIT_VERSION_OF_EPOCHS = (short) (Release.isBefore(4, 1) ? 9 : 10);

    private int epoch;

    ServiceCoordinator(OffsetsLog log) {
        super(log);
    }

    /** The service of the release, started. */
    abstract GroupCoordinator service();

    /** Where the group lives. */
    abstract int partition();

    abstract boolean isLoaded();

    @Override
    final void unload() {
        epoch++;
        service().onResignation(partition(), OptionalInt.of(epoch));
    }

    @Override
    final void load() {
        epoch++;
        service().onElection(partition(), epoch);
        if (!isLoaded()) {
            throw new AssertionError("the coordinator does not load");
        }
    }

    @Override
    final void join(Request request) {
        CoordinatorStep step = request.step();
        var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
        for (List<String> protocol : step.protocols()) {
            protocols.add(new JoinGroupRequestProtocol()
                    .setName(protocol.get(0))
                    .setMetadata(Request.bytes(protocol.get(1))));
        }
        var data = new JoinGroupRequestData()
                .setGroupId(GROUP_ID)
                .setMemberId(request.memberId())
                .setGroupInstanceId(step.instanceId())
                .setProtocolType(step.protocolTypeOrDefault())
                .setProtocols(protocols)
                .setSessionTimeoutMs(step.sessionTimeoutOrDefault())
                .setRebalanceTimeoutMs(step.rebalanceTimeoutOrDefault());
        RequestContext context = context(ApiKeys.JOIN_GROUP, joinVersion(step), step.clientIdOrDefault());
        service().joinGroup(context, data, null)
                .whenComplete(answering(request, joined -> request.answerJoin(joinOf(joined))));
    }

    /** The lowest version that has what the step says; static members are known since 5. */
    private static short joinVersion(CoordinatorStep step) {
        boolean fromFourOn = step.requiresKnownMemberId() || step.instanceId() != null;
        if (!fromFourOn) {
            return 3;
        }
        return (short) (step.supportsSkippingAssignment() ? 9 : 5);
    }

    private static Request.Join joinOf(JoinGroupResponseData joined) {
        List<Request.Joined> members = joined.members().stream()
                .map(member -> new Request.Joined(member.memberId(), member.groupInstanceId(), member.metadata()))
                .toList();
        return new Request.Join(Errors.forCode(joined.errorCode()), joined.memberId(), joined.generationId(),
                joined.protocolName(), joined.leader(), joined.skipAssignment(), members);
    }

    @Override
    final void sync(Request request) {
        CoordinatorStep step = request.step();
        var data = new SyncGroupRequestData()
                .setGroupId(GROUP_ID)
                .setMemberId(request.memberId())
                .setGroupInstanceId(step.instanceId())
                .setGenerationId(step.generation())
                .setProtocolType(step.protocolType())
                .setProtocolName(step.protocol());
        request.assignments().forEach((memberId, assignment) -> data.assignments().add(
                new SyncGroupRequestData.SyncGroupRequestAssignment()
                        .setMemberId(memberId)
                        .setAssignment(assignment)));
        service().syncGroup(context(ApiKeys.SYNC_GROUP, SYNC_VERSION, step.clientIdOrDefault()), data,
                null).whenComplete(answering(request, synced ->
                        request.answerSync(Errors.forCode(synced.errorCode()), synced.assignment())));
    }

    @Override
    final void heartbeat(Request request) {
        CoordinatorStep step = request.step();
        var data = new HeartbeatRequestData()
                .setGroupId(GROUP_ID)
                .setMemberId(request.memberId())
                .setGroupInstanceId(step.instanceId())
                .setGenerationId(step.generation());
        service().heartbeat(context(ApiKeys.HEARTBEAT, HEARTBEAT_VERSION, step.clientIdOrDefault()), data)
                .whenComplete(answering(request, beaten -> request.answer(Errors.forCode(beaten.errorCode()))));
    }

    @Override
    final void leave(Request request) {
        var data = new LeaveGroupRequestData().setGroupId(GROUP_ID);
        request.step().members().forEach(leaver -> data.members().add(new LeaveGroupRequestData.MemberIdentity()
                .setMemberId(request.memberId(leaver))
                .setGroupInstanceId(leaver.instanceId())));
        service().leaveGroup(context(ApiKeys.LEAVE_GROUP, LEAVE_VERSION, request.step().clientIdOrDefault()), data)
                .whenComplete(answering(request, left -> request.answerLeave(Errors.forCode(left.errorCode()),
                        left.members().stream().map(ServiceCoordinator::leftOf).toList())));
    }

    private static Request.Left leftOf(LeaveGroupResponseData.MemberResponse member) {
        return new Request.Left(member.memberId(), Errors.forCode(member.errorCode()));
    }

    @Override
    final void commit(Request request) {
        CoordinatorStep step = request.step();
        var data = new OffsetCommitRequestData()
                .setGroupId(GROUP_ID)
                .setMemberId(request.memberId())
                .setGroupInstanceId(step.instanceId())
                .setGenerationIdOrMemberEpoch(
                        step.memberEpoch() == null ? step.generation() : request.memberEpoch());
        Map<String, OffsetCommitRequestData.OffsetCommitRequestTopic> topics = new LinkedHashMap<>();
        for (CoordinatorStep.Offset offset : step.offsetsToCommit()) {
            topics.computeIfAbsent(offset.partition().topic(), name ->
                    new OffsetCommitRequestData.OffsetCommitRequestTopic().setName(name)).partitions().add(
                            new OffsetCommitRequestData.OffsetCommitRequestPartition()
                                    .setPartitionIndex(offset.partition().partition())
                                    .setCommittedOffset(offset.offset())
                                    .setCommittedMetadata(""));
        }
        data.topics().addAll(topics.values());
        nameTopicIds(data);
        short version = step.memberEpoch() == null ? COMMIT_VERSION : COMMIT_VERSION_OF_EPOCHS;
        service().commitOffsets(context(ApiKeys.OFFSET_COMMIT, version, step.clientIdOrDefault()), data,
                null).whenComplete(answering(request, committed ->
                        request.answerCommit(errorsOf(committed))));
    }

    /** What a broker adds that knows topic ids. */
    void nameTopicIds(OffsetCommitRequestData commit) {
    }

    private static Map<TopicPartition, Errors> errorsOf(OffsetCommitResponseData committed) {
        Map<TopicPartition, Errors> errors = new LinkedHashMap<>();
        committed.topics().forEach(topic -> topic.partitions().forEach(partition -> errors.put(
                new TopicPartition(topic.name(), partition.partitionIndex()),
                Errors.forCode(partition.errorCode()))));
        return errors;
    }

    @Override
    final void fetch(Request request) {
        Map<String, List<Integer>> partitions = request.step().topics().stream().collect(Collectors.groupingBy(
                TopicPartition::topic, LinkedHashMap::new,
                Collectors.mapping(TopicPartition::partition, Collectors.toList())));
        var group = new OffsetFetchRequestData.OffsetFetchRequestGroup()
                .setGroupId(GROUP_ID)
                .setTopics(partitions.entrySet().stream()
                        .map(topic -> new OffsetFetchRequestData.OffsetFetchRequestTopics()
                                .setName(topic.getKey())
                                .setPartitionIndexes(topic.getValue()))
                        .toList());
        service().fetchOffsets(context(ApiKeys.OFFSET_FETCH, FETCH_VERSION, request.step().clientIdOrDefault()),
                group, false).whenComplete((fetched, failure) -> {
                    if (failure == null) {
                        request.answerFetch(Errors.forCode(fetched.errorCode()), offsetsOf(fetched));
                    } else {
                        request.answerFetch(Errors.forException(failure), Map.of());
                    }
                });
    }

    private static Map<TopicPartition, Long> offsetsOf(OffsetFetchResponseData.OffsetFetchResponseGroup fetched) {
        Map<TopicPartition, Long> offsets = new LinkedHashMap<>();
        fetched.topics().forEach(topic -> topic.partitions().forEach(partition -> offsets.put(
                new TopicPartition(topic.name(), partition.partitionIndex()), partition.committedOffset())));
        return offsets;
    }

    /** What the service does not turn into a response, the broker does: the error alone. */
    static <T> BiConsumer<T, Throwable> answering(Request request, Consumer<T> answering) {
        return (response, failure) -> {
            if (failure == null) {
                answering.accept(response);
            } else {
                request.answer(Errors.forException(failure));
            }
        };
    }

    static RequestContext context(ApiKeys key, short version, String clientId) {
        return new RequestContext(new RequestHeader(key, version, clientId, 0), "connection",
                InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS,
                ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT,
                ClientInformation.EMPTY, false);
    }
}
