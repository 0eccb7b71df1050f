package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadataManager;
import scala.Option;
import scala.collection.Iterator;

/** What is read of, and put into, the GroupMetadataManager of the coordinators in Scala. */
final class ScalaState {
    private ScalaState() {
    }

    /** Its scheduler is a private thread pool; nothing else than its field can be given another one. */
    static void setScheduler(GroupMetadataManager manager, Object scheduler) {
        Reflected.write(manager, "scheduler", scheduler);
    }

    /** The group, or null; `protocol` and `pending` have other names in other releases. */
    static GroupMetadata group(GroupMetadataManager manager) {
        Option<GroupMetadata> group = manager.getGroup(Coordinator.GROUP_ID);
        return group.isEmpty() ? null : group.get();
    }

    static Coordinator.Group shown(GroupMetadata group, String protocol, int pending) {
        List<String> ids = new ArrayList<>();
        Iterator<String> iterator = group.allMembers().iterator();
        while (iterator.hasNext()) {
            ids.add(iterator.next());
        }
        // A case object's name.
        String state = group.currentState().toString();
        return new Coordinator.Group(state, group.generationId(), group.leaderOrNull(), protocol, ids, pending);
    }
}
