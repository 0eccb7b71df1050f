package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;

/** {@code DefaultPartitioner}, which there is until 3.9, step by step. */
final class DefaultPartitionerSteps {
    private static final String PACKAGE = "org.apache.kafka.clients.producer.";
    private static final String DEFAULT = "internals.DefaultPartitioner";

    private DefaultPartitionerSteps() {
    }

    /** The partitioner with this class as partitioner.class, or the default one. */
    static Partitioner newPartitioner(String named) throws ReflectiveOperationException {
        String name = PACKAGE + (named == null ? DEFAULT : named);
        return (Partitioner) Class.forName(name).getDeclaredConstructor().newInstance();
    }

    static List<Integer> answers(Case question) throws ReflectiveOperationException {
        Partitioner partitioner = newPartitioner(null);
        Cluster cluster = ProducerMetadata.of(question, question.unavailable());
        Randomness.startFrom(question.seed());
        List<Integer> partitions = new ArrayList<>();
        for (Case.Step step : question.stepsAs(Case.Step.class)) {
            Integer partition = null;
            switch (step.call()) {
                case "partition" -> {
                    byte[] key = ProducerAnswers.bytes(step.key());
                    partition = partitioner.partition(step.topic(), step.key(), key, null, null, cluster);
                }
                case "on-new-batch" -> tellNewBatch(partitioner, step.topic(), cluster, step.partition());
                case "metadata" -> cluster = ProducerMetadata.of(question, step.unavailable());
                default -> throw new IllegalArgumentException("no such call: " + step.call());
            }
            partitions.add(partition);
        }
        return partitions;
    }

    /** From 2.4 to 3.9, producers notify partitioners of new batches. */
    static void tellNewBatch(Partitioner partitioner, String topic, Cluster cluster, int partition) {
        if (!Release.isBefore(2, 4)) {
            Reflected.unwrapped(() -> Partitioner.class.getMethod("onNewBatch", String.class, Cluster.class, int.class)
                    .invoke(partitioner, topic, cluster, partition));
        }
    }
}
