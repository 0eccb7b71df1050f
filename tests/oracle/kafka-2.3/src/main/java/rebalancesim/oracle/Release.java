package rebalancesim.oracle;

import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Assignment;

/** What the shared code must know of the Kafka release it is compiled against. */
final class Release {
    static final String VERSION = "2.3";
    static final boolean STICKY_TELLS_GENERATION = true;

    private Release() {
    }

    /** What a consumer does when it gets its assignment. */
    static void tellAssignment(StickyAssignor assignor, Assignment assignment, int generation) {
        assignor.onAssignment(assignment, generation);
    }
}
