package rebalancesim.oracle;

import java.util.List;

/** Before Kafka 3.3 there is none. */
final class BuiltInPartitionerSteps {
    private BuiltInPartitionerSteps() {
    }

    static List<Integer> answers(Case question) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " has no built-in partitioner");
    }
}
