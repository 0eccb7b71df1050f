package rebalancesim.oracle;

/** The coordinator in Scala of Kafka 2.3, which lets one member leave at a time. */
final class ReleasedCoordinator extends IdentityCoordinator {
    ReleasedCoordinator(CoordinatorConfig settings) {
        super(settings);
    }
}
