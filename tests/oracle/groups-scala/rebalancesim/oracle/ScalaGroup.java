package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import kafka.coordinator.group.Empty$;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.PreparingRebalance$;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.List$;
import scala.collection.immutable.Set;

/** What the Scala coordinators of Kafka 1.0 to 3.9 have in common. */
abstract class ScalaGroup {
    static final String GROUP_ID = "group";
    static final String CLIENT_ID = "client";
    static final String HOST = "host";
    static final int TIMEOUT_MS = 10_000;

    final GroupMetadata group;

    ScalaGroup(GroupMetadata group) {
        this.group = group;
    }

    abstract boolean isCandidate(String protocol);

    /** A group with a member is not Empty any more: from then on the later versions check protocols when one joins. */
    final void leaveEmptyState() {
        if (group.is(Empty$.MODULE$)) {
            group.transitionTo(PreparingRebalance$.MODULE$);
        }
    }

    final void remove(String memberId) {
        group.remove(memberId);
    }

    final String selectProtocol() {
        return group.selectProtocol();
    }

    final String leader() {
        return group.leaderOrNull();
    }

    final List<String> memberIds() {
        List<String> ids = new ArrayList<>();
        Iterator<String> iterator = group.allMembers().iterator();
        while (iterator.hasNext()) {
            ids.add(iterator.next());
        }
        return ids;
    }

    /** A member's preference list as the coordinator keeps it: names with (here empty) metadata. */
    static scala.collection.immutable.List<Tuple2<String, byte[]>> protocols(List<String> names) {
        scala.collection.immutable.List<Tuple2<String, byte[]>> protocols = List$.MODULE$.empty();
        for (int i = names.size() - 1; i >= 0; i--) {
            protocols = protocols.$colon$colon(new Tuple2<>(names.get(i), new byte[0]));
        }
        return protocols;
    }

    static Set<String> setOf(String element) {
        scala.collection.immutable.List<String> none = List$.MODULE$.empty();
        return none.$colon$colon(element).toSet();
    }
}
