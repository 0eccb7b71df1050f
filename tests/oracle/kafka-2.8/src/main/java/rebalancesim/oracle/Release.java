package rebalancesim.oracle;

/** What the shared code must know of the Kafka release it is compiled against. */
final class Release {
    static final String VERSION = "2.8";

    private Release() {
    }
}
