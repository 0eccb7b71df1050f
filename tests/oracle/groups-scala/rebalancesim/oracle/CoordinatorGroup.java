package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import kafka.coordinator.group.Empty$;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.MemberMetadata;
import kafka.coordinator.group.PreparingRebalance$;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.List$;
import scala.collection.immutable.Set;

/** A consumer group as the Scala coordinators of Kafka 1.0 to 3.9 keep it. */
final class CoordinatorGroup {
    private static final String GROUP_ID = "group";
    private static final String CLIENT_ID = "client";
    private static final String HOST = "host";
    private static final int TIMEOUT_MS = 10_000;
    private static final boolean IS_BEFORE_STATIC_MEMBERS = Release.isBefore(2, 3);

    private final GroupMetadata group =
            (GroupMetadata) Reflected.makeLongest(GroupMetadata.class, GROUP_ID, Empty$.MODULE$, Time.SYSTEM);

    static MemberMetadata member(Case.Member member) {
        List<Object> fields = new ArrayList<>(List.of(member.memberId()));
        if (Release.isBefore(2, 4)) {
            fields.add(GROUP_ID);
        }
        if (!IS_BEFORE_STATIC_MEMBERS) {
            fields.add(Option.empty());
        }
        fields.addAll(List.of(CLIENT_ID, HOST, TIMEOUT_MS, TIMEOUT_MS, member.protocolTypeOrDefault(),
                protocols(member.protocols()), new byte[0]));
        return (MemberMetadata) Reflected.makeLongest(MemberMetadata.class, fields.toArray());
    }

    /** In 1.0 the group knows protocol names only; the coordinator itself compares types and refuses empty first joins. */
    boolean admits(MemberMetadata member) {
        Object offered = Reflected.call(member, IS_BEFORE_STATIC_MEMBERS ? "protocols" : "supportedProtocols");
        if (!IS_BEFORE_STATIC_MEMBERS) {
            return (boolean) Reflected.call(group, "supportsProtocols", member.protocolType(),
                    Reflected.callStatic(MemberMetadata.class, "plainProtocolSet", offered));
        }
        if (group.is(Empty$.MODULE$)) {
            return !member.protocolType().isEmpty() && (boolean) Reflected.call(offered, "nonEmpty");
        }
        return group.protocolType().contains(member.protocolType())
                && (boolean) Reflected.call(group, "supportsProtocols", offered);
    }

    /** A group with a member is not Empty any more: from then on the later versions check protocols when one joins. */
    void add(MemberMetadata member) {
        Reflected.call(group, "add", IS_BEFORE_STATIC_MEMBERS ? new Object[] {member} : new Object[] {member, null});
        if (group.is(Empty$.MODULE$)) {
            group.transitionTo(PreparingRebalance$.MODULE$);
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
        List<String> ids = new ArrayList<>();
        Iterator<String> iterator = group.allMembers().iterator();
        while (iterator.hasNext()) {
            ids.add(iterator.next());
        }
        return ids;
    }

    boolean isCandidate(String protocol) {
        scala.collection.immutable.List<String> none = List$.MODULE$.empty();
        Set<String> offered = none.$colon$colon(protocol).toSet();
        return (boolean) (IS_BEFORE_STATIC_MEMBERS ? Reflected.call(group, "supportsProtocols", offered)
                : Reflected.call(group, "supportsProtocols", group.protocolType().get(), offered));
    }

    /** A member's preference list as the coordinator keeps it: names with (here empty) metadata. */
    private static scala.collection.immutable.List<Tuple2<String, byte[]>> protocols(List<String> names) {
        scala.collection.immutable.List<Tuple2<String, byte[]>> protocols = List$.MODULE$.empty();
        for (int i = names.size() - 1; i >= 0; i--) {
            protocols = protocols.$colon$colon(new Tuple2<>(names.get(i), new byte[0]));
        }
        return protocols;
    }
}
