package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.internals.AccumulatorQueues;
import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * A producer as Kafka before 3.3 drives its accumulator in KafkaProducer.doSend: it is given records for a partition,
 * which a partitioner names.
 */
final class ProducerCall {
    private static final long BUFFER_BYTES = 1L << 40;
    private static final long RETRY_BACKOFF_MS = 100;
    private static final int DELIVERY_TIMEOUT_MS = 120_000;
    private static final long MAX_BLOCK_MS = 0;

    private final RecordAccumulator accumulator;
    private final Cluster cluster;
    private final Partitioner partitioner;

    ProducerCall(Case question, Cluster cluster, Time time) throws ReflectiveOperationException {
        partitioner = DefaultPartitionerSteps.newPartitioner(question.partitioner());
        accumulator = accumulator(question, time, new Metrics());
        this.cluster = cluster;
    }

    private static RecordAccumulator accumulator(Case question, Time time, Metrics metrics) {
        int batchSize = question.batchSize();
        Object made = Release.isBefore(2, 1)
                ? Reflected.makeLongest(RecordAccumulator.class, new LogContext(), batchSize, BUFFER_BYTES,
                        CompressionType.NONE, (long) question.lingerMs(), RETRY_BACKOFF_MS, metrics, time,
                        new ApiVersions(), null)
                : Reflected.makeLongest(RecordAccumulator.class, new LogContext(), batchSize, CompressionType.NONE,
                        question.lingerMs(), RETRY_BACKOFF_MS, DELIVERY_TIMEOUT_MS, metrics, "", time,
                        new ApiVersions(), null, new BufferPool(BUFFER_BYTES, batchSize, metrics, time, ""));
        return (RecordAccumulator) made;
    }

    /** From 2.4 on the partitioner is notified of new batches, and asked once more. */
    int send(Case.Sent sent) {
        int partition = partition(sent);
        if (Release.isBefore(2, 4)) {
            append(sent, partition);
        } else if ((boolean) Reflected.read(append(sent, partition, true, sent.atMs()), "abortForNewBatch")) {
            DefaultPartitionerSteps.tellNewBatch(partitioner, sent.topic(), cluster, partition);
            partition = partition(sent);
            append(sent, partition, false, sent.atMs());
        }
        return partition;
    }

    private Object append(Case.Sent sent, int partition, Object... more) {
        List<Object> arguments = new ArrayList<>(Arrays.asList(new TopicPartition(sent.topic(), partition), sent.atMs(),
                sent.key(), sent.value(), null, null, MAX_BLOCK_MS));
        arguments.addAll(List.of(more));
        return Reflected.call(accumulator, "append", arguments.toArray());
    }

    /** As KafkaProducer.partition does; a record that has a partition may have got it from its key. */
    private int partition(Case.Sent sent) {
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
