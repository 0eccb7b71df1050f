package rebalancesim.oracle;

import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.internals.AccumulatorQueues;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.RecordBatch;

/** A {@code RecordAccumulator} that is given records for a partition, and a partitioner that names it. */
abstract class AccumulatorCall {
    static final long BUFFER_BYTES = 1L << 40;
    static final int RETRY_BACKOFF_MS = 100;
    static final int DELIVERY_TIMEOUT_MS = 120_000;
    static final int MAX_BLOCK_MS = 0;

    final RecordAccumulator accumulator;
    final Cluster cluster;
    final Partitioner partitioner;

    AccumulatorCall(Case question, RecordAccumulator accumulator, Cluster cluster)
            throws ReflectiveOperationException {
        partitioner = DefaultPartitionerSteps.newPartitioner(question.partitioner());
        this.accumulator = accumulator;
        this.cluster = cluster;
    }

    /** As KafkaProducer.partition does; a record that has a partition may have got it from its key. */
    int partition(Case.Sent sent) {
        return sent.partition() != null
                ? sent.partition()
                : partitioner.partition(sent.topic(), null, null, null, null, cluster);
    }

    Set<Node> ready(long nowMs) {
        return accumulator.ready(cluster, nowMs).readyNodes;
    }

    Map<Integer, List<ProducerBatch>> drain(Set<Node> nodes, long nowMs) {
        return accumulator.drain(cluster, nodes, Integer.MAX_VALUE, nowMs);
    }

    void complete(ProducerBatch batch) {
        batch.done(0, RecordBatch.NO_TIMESTAMP, null);
        accumulator.deallocate(batch);
    }

    Deque<ProducerBatch> queue(TopicPartition partition) {
        return AccumulatorQueues.queue(accumulator, partition);
    }
}
