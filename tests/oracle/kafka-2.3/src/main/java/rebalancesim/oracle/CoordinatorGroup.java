package rebalancesim.oracle;

import kafka.coordinator.group.Empty$;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.MemberMetadata;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** A consumer group as Kafka 2.3's coordinator keeps it. */
final class CoordinatorGroup extends ScalaGroup {
    CoordinatorGroup() {
        super(new GroupMetadata(GROUP_ID, Empty$.MODULE$, Time.SYSTEM));
    }

    static MemberMetadata member(Case.Member member) {
        return new MemberMetadata(member.memberId(), GROUP_ID, Option.empty(), CLIENT_ID, HOST, TIMEOUT_MS, TIMEOUT_MS,
                member.protocolTypeOrDefault(), protocols(member.protocols()));
    }

    boolean admits(MemberMetadata member) {
        return group.supportsProtocols(
                member.protocolType(), MemberMetadata.plainProtocolSet(member.supportedProtocols()));
    }

    void add(MemberMetadata member) {
        group.add(member, null);
        leaveEmptyState();
    }

    @Override
    boolean isCandidate(String protocol) {
        return group.supportsProtocols(group.protocolType().get(), setOf(protocol));
    }
}
