package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.producer.internals.BuiltInPartitionerCall;
import org.apache.kafka.common.Cluster;

/** {@code BuiltInPartitioner} of one topic, step by step. */
final class BuiltInPartitionerSteps {
    private BuiltInPartitionerSteps() {
    }

    static List<Integer> answers(Case question) {
        String topic = question.topics().keySet().iterator().next();
        BuiltInPartitionerCall partitioner = new BuiltInPartitionerCall(topic, question.stickyBatchSize());
        Cluster cluster = ProducerMetadata.of(question, question.unavailable());
        Randomness.startFrom(question.seed());
        List<Integer> partitions = new ArrayList<>();
        for (Case.Step step : question.stepsAs(Case.Step.class)) {
            Integer partition = null;
            switch (step.call()) {
                case "peek" -> partition = partitioner.peek(cluster);
                case "update" -> {
                    partitioner.update(step.bytes(), cluster, step.enableSwitch());
                    partition = partitioner.peek(cluster);
                }
                case "load" -> tellLoad(partitioner, step.load());
                case "metadata" -> cluster = ProducerMetadata.of(question, step.unavailable());
                default -> throw new IllegalArgumentException("no such call: " + step.call());
            }
            partitions.add(partition);
        }
        return partitions;
    }

    private static void tellLoad(BuiltInPartitionerCall partitioner, Case.Load load) {
        if (load == null) {
            partitioner.updateLoadStats(null, null, 0);
        } else {
            partitioner.updateLoadStats(load.queueSizes(), load.partitionIds(), load.length());
        }
    }
}
