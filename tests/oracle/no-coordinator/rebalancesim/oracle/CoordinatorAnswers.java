package rebalancesim.oracle;

import java.util.Map;

/** A release whose coordinator is not asked for whole conversations. */
final class CoordinatorAnswers {
    private CoordinatorAnswers() {
    }

    static Map<String, Object> to(Case question) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " is not asked about its coordinator");
    }
}
