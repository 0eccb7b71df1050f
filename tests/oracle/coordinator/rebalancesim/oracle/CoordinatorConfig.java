package rebalancesim.oracle;

/** The broker's settings that a case may name; null stands for Kafka's default. */
record CoordinatorConfig(
        Integer initialRebalanceDelayMs,
        Integer groupMaxSize,
        Integer minSessionTimeoutMs,
        Integer maxSessionTimeoutMs,
        Integer consumerGroupMaxSize,
        Integer assignmentIntervalMs,
        Integer numStandbyReplicas) {

    /** No periodic task of the coordinator's own comes up within a case. */
    static final long NEVER_MS = 1L << 50;

    int initialRebalanceDelayOrDefault() {
        return initialRebalanceDelayMs == null ? 3000 : initialRebalanceDelayMs;
    }

    int groupMaxSizeOrDefault() {
        return groupMaxSize == null ? Integer.MAX_VALUE : groupMaxSize;
    }

    int consumerGroupMaxSizeOrDefault() {
        return consumerGroupMaxSize == null ? Integer.MAX_VALUE : consumerGroupMaxSize;
    }

    int consumerGroupMaxSizeOr(int protocolDefault) {
        return consumerGroupMaxSize == null ? protocolDefault : consumerGroupMaxSize;
    }

    int assignmentIntervalOrDefault() {
        return assignmentIntervalMs == null ? 1000 : assignmentIntervalMs;
    }

    int numStandbyReplicasOrDefault() {
        return numStandbyReplicas == null ? 0 : numStandbyReplicas;
    }

    int minSessionTimeoutOrDefault() {
        return minSessionTimeoutMs == null ? 6000 : minSessionTimeoutMs;
    }

    int maxSessionTimeoutOr(int releaseDefault) {
        return maxSessionTimeoutMs == null ? releaseDefault : maxSessionTimeoutMs;
    }
}
