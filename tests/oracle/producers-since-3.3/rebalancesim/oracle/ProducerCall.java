package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.clients.producer.internals.RecordAccumulator.PartitionerConfig;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * A producer as Kafka since 3.3 drives its accumulator in KafkaProducer.doSend: the accumulator places records without
 * a partition itself.
 */
final class ProducerCall {
    private static final long BUFFER_BYTES = 1L << 40;
    private static final long RETRY_BACKOFF_MS = 100;
    private static final int DELIVERY_TIMEOUT_MS = 120_000;
    private static final long MAX_BLOCK_MS = 0;
    private static final long NO_TIMESTAMP = -1;

    private final RecordAccumulator accumulator;
    private final Cluster cluster;
    private final MetadataSnapshot snapshot;

    private final Partitioner partitioner;

    ProducerCall(Case question, Cluster cluster, Time time) throws ReflectiveOperationException {
        String named = question.partitioner();
        partitioner = named == null ? null : DefaultPartitionerSteps.newPartitioner(named);
        accumulator = accumulator(question, time, new Metrics());
        this.cluster = cluster;
        snapshot = new MetadataSnapshot(
                "oracle", Map.of(), List.of(), Set.of(), Set.of(), Set.of(), null, Map.of(), cluster);
    }

    private static RecordAccumulator accumulator(Case question, Time time, Metrics metrics) {
        int batchSize = question.batchSize();
        List<Object> arguments = new ArrayList<>(List.of(new LogContext(), batchSize, Compression.NONE,
                question.lingerMs(), RETRY_BACKOFF_MS, RETRY_BACKOFF_MS, DELIVERY_TIMEOUT_MS,
                new PartitionerConfig(question.adaptive(), 0), metrics, "", time));
        if (Release.isBefore(4, 0)) {
            arguments.add(Reflected.make(Reflected.type("org.apache.kafka.clients.ApiVersions")));
        }
        arguments.add(null);
        arguments.add(new BufferPool(BUFFER_BYTES, batchSize, metrics, time, ""));
        return (RecordAccumulator) Reflected.make(RecordAccumulator.class, arguments.toArray());
    }

    int send(Case.Sent sent) {
        Placed placed = new Placed();
        List<Object> arguments = new ArrayList<>(Arrays.asList(sent.topic(), partition(sent), sent.atMs(), sent.key(),
                sent.value(), null, placed, MAX_BLOCK_MS));
        if (Release.isBefore(4, 0)) {
            arguments.add(false);
        }
        arguments.addAll(List.of(sent.atMs(), cluster));
        Reflected.call(accumulator, "append", arguments.toArray());
        return placed.partition();
    }

    /** As KafkaProducer.partition does; a record may have its partition from its key. */
    private int partition(Case.Sent sent) {
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
        Reflected.call(accumulator, Release.isBefore(4, 0) ? "deallocate" : "completeAndDeallocateBatch", batch);
    }

    Deque<ProducerBatch> queue(TopicPartition partition) {
        return accumulator.getDeque(partition);
    }

    /** What {@code append} returns: the partition into which a record went. */
    private static final class Placed implements RecordAccumulator.AppendCallbacks {
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
