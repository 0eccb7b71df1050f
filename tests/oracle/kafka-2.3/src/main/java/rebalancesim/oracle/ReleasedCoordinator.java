package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import kafka.api.ApiVersion$;
import kafka.common.OffsetAndMetadata;
import kafka.coordinator.group.GroupConfig;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadataManager;
import kafka.coordinator.group.JoinGroupResult;
import kafka.coordinator.group.OffsetConfig;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import scala.Option;
import scala.collection.Iterator;

/** The coordinator in Scala of Kafka 2.3, asked as KafkaApis asks it. */
final class ReleasedCoordinator extends HandlerCoordinator {
    private static final int MAX_SESSION_TIMEOUT_MS = 1_800_000;
    /** The broker's default, which is not that of the class. */
    private static final long RETENTION_MS = 7 * 24 * 3_600_000L;

    ReleasedCoordinator(CoordinatorConfig settings) {
        super(settings, RETENTION_MS);
    }

    @Override
    GroupMetadataManager groups(OffsetConfig offsetConfig) {
        KafkaZkClient zooKeeper = StandIn.of(KafkaZkClient.class, HandlerCoordinator::answerAsZooKeeper);
        return new GroupMetadataManager(BROKER_ID, ApiVersion$.MODULE$.latestVersion(), offsetConfig,
                log.replicaManager(), zooKeeper, clock.asTime());
    }

    @Override
    GroupConfig groupConfig(CoordinatorConfig settings) {
        return new GroupConfig(settings.minSessionTimeoutOrDefault(),
                settings.maxSessionTimeoutOr(MAX_SESSION_TIMEOUT_MS), settings.groupMaxSizeOrDefault(),
                settings.initialRebalanceDelayOrDefault());
    }

    @Override
    int pending(GroupMetadata group) {
        return group.numPending();
    }

    @Override
    void join(Request request) {
        CoordinatorStep step = request.step();
        boolean requiresKnownId = step.requiresKnownMemberId() && step.instanceId() == null;
        coordinator.handleJoinGroup(GROUP_ID, request.memberId(), instanceId(request), requiresKnownId,
                step.clientIdOrDefault(), HOST, step.rebalanceTimeoutOrDefault(), step.sessionTimeoutOrDefault(),
                step.protocolTypeOrDefault(), protocols(request),
                ScalaValues.callback(joined -> request.answerJoin(joinOf(joined))));
    }

    private static Request.Join joinOf(JoinGroupResult joined) {
        List<Request.Joined> members = new ArrayList<>();
        Iterator<JoinGroupResponseMember> iterator = joined.members().iterator();
        while (iterator.hasNext()) {
            JoinGroupResponseMember member = iterator.next();
            members.add(new Request.Joined(member.memberId(), member.groupInstanceId(), member.metadata()));
        }
        return new Request.Join(joined.error(), joined.memberId(), joined.generationId(), joined.subProtocol(),
                joined.leaderId(), null, members);
    }

    @Override
    void sync(Request request) {
        coordinator.handleSyncGroup(GROUP_ID, request.step().generation(), request.memberId(), instanceId(request),
                ScalaValues.scalaMap(request.assignments()),
                ScalaValues.callback(synced -> request.answerSync(synced.error(), synced.memberAssignment())));
    }

    @Override
    void heartbeat(Request request) {
        coordinator.handleHeartbeat(GROUP_ID, request.memberId(), instanceId(request), request.step().generation(),
                ScalaValues.callback(request::answer));
    }

    @Override
    void commit(Request request) {
        long nowMs = nowMs();
        coordinator.handleCommitOffsets(GROUP_ID, request.memberId(), instanceId(request), request.step().generation(),
                offsets(request, offset ->
                        new OffsetAndMetadata(offset, Optional.empty(), "", nowMs, Option.empty())),
                committed(request));
    }

    private static Option<String> instanceId(Request request) {
        return Option.apply(request.step().instanceId());
    }
}
