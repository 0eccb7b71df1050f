package rebalancesim.oracle;

import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Assignment;

/** What the shared code must know of the Kafka release it is compiled against. */
final class Release {
    static final String VERSION = "1.0";
    static final boolean STICKY_TELLS_GENERATION = false;

    private Release() {
    }

    /** A generation is not told to assignors yet. */
    static void tellAssignment(StickyAssignor assignor, Assignment assignment, int generation) {
        assignor.onAssignment(assignment);
    }
}
