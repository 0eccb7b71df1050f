package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import kafka.coordinator.group.LeaveGroupResult;
import kafka.coordinator.group.LeaveMemberResponse;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import scala.collection.Iterator;

/** The coordinator in Scala of a release from 2.4 to 3.4, which lets several members leave at a time. */
final class ReleasedCoordinator extends IdentityCoordinator {
    ReleasedCoordinator(CoordinatorConfig settings) {
        super(settings);
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
}
