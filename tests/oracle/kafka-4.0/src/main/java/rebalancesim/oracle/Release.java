package rebalancesim.oracle;

/** What the shared code must know of the Kafka release it is compiled against. */
final class Release {
    static final String VERSION = "4.0";
    static final boolean STICKY_TELLS_GENERATION = true;

    private Release() {
    }
}
