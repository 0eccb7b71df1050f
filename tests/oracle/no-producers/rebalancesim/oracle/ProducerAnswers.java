package rebalancesim.oracle;

import java.util.Map;

/** A release that is here for its coordinator alone. */
final class ProducerAnswers {
    private ProducerAnswers() {
    }

    static Map<String, Object> to(Case question) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " is asked about groups alone");
    }
}
