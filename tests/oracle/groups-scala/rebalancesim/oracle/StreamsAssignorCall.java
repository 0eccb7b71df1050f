package rebalancesim.oracle;

/** Before Kafka 4.1 there are no streams groups. */
final class StreamsAssignorCall {
    private StreamsAssignorCall() {
    }

    static Bench.Prepared prepare(Case question) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " has no streams groups");
    }
}
