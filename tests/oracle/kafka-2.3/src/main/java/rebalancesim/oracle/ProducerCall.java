package rebalancesim.oracle;

import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/** A producer as Kafka 2.3 drives its accumulator in KafkaProducer.doSend. */
final class ProducerCall extends AccumulatorCall {
    ProducerCall(Case question, Cluster cluster, Time time) throws ReflectiveOperationException {
        super(question, accumulator(question, time, new Metrics()), cluster);
    }

    private static RecordAccumulator accumulator(Case question, Time time, Metrics metrics) {
        BufferPool pool = new BufferPool(BUFFER_BYTES, question.batchSize(), metrics, time, "");
        return new RecordAccumulator(new LogContext(), question.batchSize(), CompressionType.NONE, question.lingerMs(),
                RETRY_BACKOFF_MS, DELIVERY_TIMEOUT_MS, metrics, "", time, new ApiVersions(), null, pool);
    }

    int send(Case.Sent sent) throws InterruptedException {
        int partition = partition(sent);
        accumulator.append(new TopicPartition(sent.topic(), partition), sent.atMs(), sent.key(), sent.value(), null,
                null, MAX_BLOCK_MS);
        return partition;
    }
}
