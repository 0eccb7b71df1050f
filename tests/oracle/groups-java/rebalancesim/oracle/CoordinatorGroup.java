package rebalancesim.oracle;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocolCollection;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.classic.ClassicGroupState;

/** A classic consumer group as the Java coordinator of Kafka 4.x keeps it. */
final class CoordinatorGroup {
    private static final LogContext LOG_CONTEXT = new LogContext();
    private static final int TIMEOUT_MS = 10_000;

    private final ClassicGroup group =
            new ClassicGroup(LOG_CONTEXT, "group", ClassicGroupState.EMPTY, Time.SYSTEM);

    static ClassicGroupMember member(Case.Member member) {
        JoinGroupRequestProtocolCollection protocols = new JoinGroupRequestProtocolCollection();
        for (String name : member.protocols()) {
            protocols.add(new JoinGroupRequestProtocol().setName(name).setMetadata(new byte[0]));
        }
        return new ClassicGroupMember(member.memberId(), Optional.empty(), "client", "host", TIMEOUT_MS, TIMEOUT_MS,
                member.protocolTypeOrDefault(), protocols);
    }

    boolean admits(ClassicGroupMember member) {
        return group.supportsProtocols(member);
    }

    /** A group with a member is not Empty any more: from then on protocols are checked when one joins. */
    void add(ClassicGroupMember member) {
        group.add(member);
        if (group.isInState(ClassicGroupState.EMPTY)) {
            group.transitionTo(ClassicGroupState.PREPARING_REBALANCE);
        }
    }

    void remove(String memberId) {
        group.remove(memberId);
    }

    String selectProtocol() {
        return group.selectProtocol();
    }

    String leader() {
        return group.leaderOrNull();
    }

    List<String> memberIds() {
        return List.copyOf(group.allMemberIds());
    }

    boolean isCandidate(String protocol) {
        return group.supportsProtocols(group.protocolType().get(), Set.of(protocol));
    }
}
