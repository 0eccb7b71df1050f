package rebalancesim.oracle;

import java.util.Map;

/** A release that is here for its producers alone. */
final class GroupAnswers {
    private GroupAnswers() {
    }

    static Map<String, Object> to(Case question) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " is asked about producers alone");
    }
}
