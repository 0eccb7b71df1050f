package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import kafka.common.OffsetAndMetadata;
import kafka.common.OffsetMetadata;
import kafka.coordinator.group.JoinGroupResult;
import org.apache.kafka.common.protocol.Errors;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** The coordinator in Scala of Kafka 1.0, asked as KafkaApis asks it. */
final class ReleasedCoordinator extends HandlerCoordinator {
    ReleasedCoordinator(CoordinatorConfig settings) {
        super(settings);
    }

    @Override
    void join(Request request) {
        requireDynamic(request);
        CoordinatorStep step = request.step();
        coordinator.handleJoinGroup(GROUP_ID, request.memberId(), step.clientIdOrDefault(), HOST,
                step.rebalanceTimeoutOrDefault(), step.sessionTimeoutOrDefault(), step.protocolTypeOrDefault(),
                protocols(request), ScalaValues.callback(joined -> request.answerJoin(joinOf(joined))));
    }

    /** The members come as a map, in whose order they are written. */
    private static Request.Join joinOf(JoinGroupResult joined) {
        List<Request.Joined> members = new ArrayList<>();
        ScalaValues.javaMap(joined.members(), metadata -> metadata)
                .forEach((memberId, metadata) -> members.add(new Request.Joined(memberId, null, metadata)));
        return new Request.Join(joined.error(), joined.memberId(), joined.generationId(), joined.subProtocol(),
                joined.leaderId(), null, members);
    }

    @Override
    void sync(Request request) {
        requireDynamic(request);
        coordinator.handleSyncGroup(GROUP_ID, request.step().generation(), request.memberId(),
                ScalaValues.scalaMap(request.assignments()), new AbstractFunction2<>() {
                    @Override
                    public BoxedUnit apply(byte[] assignment, Errors error) {
                        request.answerSync(error, assignment);
                        return BoxedUnit.UNIT;
                    }
                });
    }

    @Override
    void heartbeat(Request request) {
        requireDynamic(request);
        coordinator.handleHeartbeat(
                GROUP_ID, request.memberId(), request.step().generation(), ScalaValues.callback(request::answer));
    }

    @Override
    void commit(Request request) {
        requireDynamic(request);
        long nowMs = nowMs();
        coordinator.handleCommitOffsets(GROUP_ID, request.memberId(), request.step().generation(),
                offsets(request, offset ->
                        new OffsetAndMetadata(new OffsetMetadata(offset, ""), nowMs, nowMs + RETENTION_MS)),
                committed(request));
    }

    private static void requireDynamic(Request request) {
        if (request.step().instanceId() != null || request.step().requiresKnownMemberId()) {
            throw new UnsupportedOperationException("Kafka 1.0 knows no instance ids and no pending ids");
        }
    }
}
