package rebalancesim.oracle;

import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.clients.producer.internals.RecordAccumulator.PartitionerConfig;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/** A producer as Kafka 4.3 drives its accumulator in KafkaProducer.doSend. */
final class ProducerCall extends AccumulatorCall {
    ProducerCall(Case question, Cluster cluster, Time time) throws ReflectiveOperationException {
        super(question, accumulator(question, time, new Metrics()), cluster);
    }

    private static RecordAccumulator accumulator(Case question, Time time, Metrics metrics) {
        BufferPool pool = new BufferPool(BUFFER_BYTES, question.batchSize(), metrics, time, "");
        PartitionerConfig partitioner = new PartitionerConfig(question.adaptive(), 0);
        return new RecordAccumulator(new LogContext(), question.batchSize(), Compression.NONE, question.lingerMs(),
                RETRY_BACKOFF_MS, RETRY_BACKOFF_MS, DELIVERY_TIMEOUT_MS, partitioner, metrics, "", time,
                null, pool);
    }

    int send(Case.Sent sent) throws InterruptedException {
        Placed placed = new Placed();
        accumulator.append(sent.topic(), partition(sent), sent.atMs(), sent.key(), sent.value(), null, placed,
                MAX_BLOCK_MS, sent.atMs(), cluster);
        return placed.partition();
    }

    @Override
    void release(ProducerBatch batch) {
        accumulator.completeAndDeallocateBatch(batch);
    }
}
