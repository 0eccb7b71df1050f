package rebalancesim.oracle;

import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;

/** A {@code RecordAccumulator} that places records without a partition itself. */
abstract class AccumulatorCall {
    static final long BUFFER_BYTES = 1L << 40;
    static final int RETRY_BACKOFF_MS = 100;
    static final int DELIVERY_TIMEOUT_MS = 120_000;
    static final int MAX_BLOCK_MS = 0;
    private static final long NO_TIMESTAMP = -1;

    final RecordAccumulator accumulator;
    final Cluster cluster;
    private final MetadataSnapshot snapshot;

    private final Partitioner partitioner;

    AccumulatorCall(Case question, RecordAccumulator accumulator, Cluster cluster)
            throws ReflectiveOperationException {
        String named = question.partitioner();
        partitioner = named == null ? null : DefaultPartitionerSteps.newPartitioner(named);
        this.accumulator = accumulator;
        this.cluster = cluster;
        snapshot = new MetadataSnapshot(
                "oracle", Map.of(), List.of(), Set.of(), Set.of(), Set.of(), null, Map.of(), cluster);
    }

    /** As KafkaProducer.partition does; a record may have its partition from its key. */
    int partition(Case.Sent sent) {
        if (sent.partition() != null) {
            return sent.partition();
        }
        return partitioner == null
                ? RecordMetadata.UNKNOWN_PARTITION
                : partitioner.partition(sent.topic(), null, null, null, null, cluster);
    }

    Set<Node> ready(long nowMs) {
        return accumulator.ready(snapshot, nowMs).readyNodes;
    }

    Map<Integer, List<ProducerBatch>> drain(Set<Node> nodes, long nowMs) {
        return accumulator.drain(snapshot, nodes, Integer.MAX_VALUE, nowMs);
    }

    void complete(ProducerBatch batch) {
        batch.complete(0, NO_TIMESTAMP);
        release(batch);
    }

    /** Forgets a batch and gives its buffer back. */
    abstract void release(ProducerBatch batch);

    Deque<ProducerBatch> queue(TopicPartition partition) {
        return accumulator.getDeque(partition);
    }

    /** What {@code append} returns: the partition into which a record went. */
    static final class Placed implements RecordAccumulator.AppendCallbacks {
        private int partition = RecordMetadata.UNKNOWN_PARTITION;

        int partition() {
            return partition;
        }

        @Override
        public void setPartition(int partition) {
            this.partition = partition;
        }

        @Override
        public void onCompletion(RecordMetadata metadata, Exception exception) {
            // Nobody waits for the broker's answer.
        }
    }
}
