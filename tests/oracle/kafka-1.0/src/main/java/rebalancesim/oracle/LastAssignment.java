package rebalancesim.oracle;

import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Assignment;

/** What a consumer passes to its assignor when it gets its assignment: no generation yet. */
final class LastAssignment {
    private LastAssignment() {
    }

    static void pass(StickyAssignor assignor, Assignment assignment, int generation) {
        assignor.onAssignment(assignment);
    }
}
