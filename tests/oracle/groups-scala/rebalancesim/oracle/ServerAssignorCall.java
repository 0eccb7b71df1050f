package rebalancesim.oracle;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** Before Kafka 4.0 only clients assign. */
final class ServerAssignorCall implements Bench.Prepared {
    private ServerAssignorCall() {
    }

    static ServerAssignorCall prepare(String rule, Case question) {
        throw new UnsupportedOperationException("Kafka " + Release.VERSION + " has no rule named " + rule);
    }

    @Override
    public Object run() {
        throw new IllegalStateException();
    }

    Map<String, List<TopicPartition>> partitions(Object result) {
        throw new IllegalStateException();
    }
}
