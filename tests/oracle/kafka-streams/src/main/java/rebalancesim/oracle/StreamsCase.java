package rebalancesim.oracle;

import java.util.List;
import java.util.Map;

/** An application whose tasks are assigned. Tasks are written as Kafka prints them: "0_3". */
record StreamsCase(
        String assignor,
        List<Client> clients,
        List<String> tasks,
        List<String> stateful,
        Settings settings,
        Map<String, List<String>> sources,
        Map<String, List<String>> changelogs,
        Map<String, List<List<String>>> racks) {

    /** A process. Lags are those of the stateful tasks, in their order. */
    record Client(
            String process,
            List<Consumer> consumers,
            List<String> previousActive,
            List<String> previousStandby,
            List<Long> lags,
            Map<String, String> tags,
            String rack) {
    }

    /** A thread, with the stateful tasks that it had. */
    record Consumer(String id, List<String> previous) {
    }

    record Settings(
            long acceptableRecoveryLag,
            int maxWarmupReplicas,
            int numStandbyReplicas,
            List<String> rackAwareTags,
            Integer trafficCost,
            Integer nonOverlapCost,
            String strategy) {
    }
}
