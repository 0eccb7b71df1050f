package rebalancesim.oracle;

import kafka.coordinator.group.Empty$;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.MemberMetadata;

/** A consumer group as Kafka 1.0's coordinator keeps it. */
final class CoordinatorGroup extends ScalaGroup {
    CoordinatorGroup() {
        super(new GroupMetadata(GROUP_ID, Empty$.MODULE$));
    }

    static MemberMetadata member(Case.Member member) {
        return new MemberMetadata(member.memberId(), GROUP_ID, CLIENT_ID, HOST, TIMEOUT_MS, TIMEOUT_MS,
                member.protocolTypeOrDefault(), protocols(member.protocols()));
    }

    /** In 1.0 the group knows protocol names only; the coordinator itself compares types and refuses empty first joins. */
    boolean admits(MemberMetadata member) {
        if (group.is(Empty$.MODULE$)) {
            return !member.protocolType().isEmpty() && member.protocols().nonEmpty();
        }
        return group.protocolType().contains(member.protocolType()) && group.supportsProtocols(member.protocols());
    }

    void add(MemberMetadata member) {
        group.add(member);
        leaveEmptyState();
    }

    @Override
    boolean isCandidate(String protocol) {
        return group.supportsProtocols(setOf(protocol));
    }
}
