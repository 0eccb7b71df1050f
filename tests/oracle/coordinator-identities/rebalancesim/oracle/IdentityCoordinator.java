package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import kafka.common.OffsetAndMetadata;
import kafka.coordinator.group.JoinGroupResult;
import kafka.coordinator.group.SyncGroupResult;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import scala.Option;
import scala.collection.Iterator;

/** The coordinators in Scala from 2.3 to 3.4, which know static members by their instance ids. */
abstract class IdentityCoordinator extends HandlerCoordinator {
    IdentityCoordinator(CoordinatorConfig settings) {
        super(settings);
    }

    @Override
    final void join(Request request) {
        CoordinatorStep step = request.step();
        List<Object> arguments = new ArrayList<>(List.of(GROUP_ID, request.memberId(), instanceId(step),
                step.requiresKnownMemberId() && step.instanceId() == null));
        if (!Release.isBefore(3, 2)) {
            arguments.add(step.supportsSkippingAssignment());
        }
        arguments.addAll(List.of(step.clientIdOrDefault(), HOST, step.rebalanceTimeoutOrDefault(),
                step.sessionTimeoutOrDefault(), step.protocolTypeOrDefault(), protocols(request),
                ScalaValues.<JoinGroupResult>callback(joined -> request.answerJoin(joinOf(joined)))));
        if (!Release.isBefore(3, 2)) {
            arguments.add(Option.empty());
        }
        Reflected.call(coordinator, "handleJoinGroup", withoutCaching(arguments));
    }

    private static Option<String> instanceId(CoordinatorStep step) {
        return Option.apply(step.instanceId());
    }

    /** Since 3.0 what writes to the log takes a supplier of buffers as well. */
    private static Object[] withoutCaching(List<Object> arguments) {
        if (!Release.isBefore(3, 0)) {
            arguments.add(Reflected.call(staticField("kafka.server.RequestLocal$"), "NoCaching"));
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
        Boolean skips = Release.isBefore(3, 2) ? null : (Boolean) Reflected.call(joined, "skipAssignment");
        return new Request.Join(joined.error(), joined.memberId(), joined.generationId(),
                text(Reflected.call(joined, Release.isBefore(2, 5) ? "subProtocol" : "protocolName")),
                joined.leaderId(), skips, members);
    }

    @Override
    final void sync(Request request) {
        CoordinatorStep step = request.step();
        List<Object> arguments = new ArrayList<>(List.of(GROUP_ID, step.generation(), request.memberId()));
        if (!Release.isBefore(2, 5)) {
            arguments.addAll(List.of(Option.apply(step.protocolType()), Option.apply(step.protocol())));
        }
        arguments.addAll(List.of(instanceId(step), ScalaValues.scalaMap(request.assignments()),
                ScalaValues.<SyncGroupResult>callback(synced ->
                        request.answerSync(synced.error(), synced.memberAssignment()))));
        Reflected.call(coordinator, "handleSyncGroup", withoutCaching(arguments));
    }

    @Override
    final void heartbeat(Request request) {
        CoordinatorStep step = request.step();
        coordinator.handleHeartbeat(GROUP_ID, request.memberId(), instanceId(step), step.generation(),
                ScalaValues.callback(request::answer));
    }

    @Override
    final void commit(Request request) {
        CoordinatorStep step = request.step();
        long nowMs = nowMs();
        Reflected.call(coordinator, "handleCommitOffsets", withoutCaching(new ArrayList<>(List.of(
                GROUP_ID, request.memberId(), instanceId(step), step.generation(),
                offsets(request, offset -> new OffsetAndMetadata(offset, Optional.empty(), "", nowMs, Option.empty())),
                committed(request)))));
    }
}
