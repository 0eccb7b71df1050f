package rebalancesim.oracle;

import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/** A producer as Kafka 1.0 drives its accumulator in KafkaProducer.doSend. */
final class ProducerCall extends AccumulatorCall {
    ProducerCall(Case question, Cluster cluster, Time time) throws ReflectiveOperationException {
        super(question, new RecordAccumulator(new LogContext(), question.batchSize(), BUFFER_BYTES, CompressionType.NONE,
                question.lingerMs(), RETRY_BACKOFF_MS, new Metrics(), time, new ApiVersions(), null), cluster);
    }

    int send(Case.Sent sent) throws InterruptedException {
        int partition = partition(sent);
        accumulator.append(new TopicPartition(sent.topic(), partition), sent.atMs(), sent.key(), sent.value(), null,
                null, MAX_BLOCK_MS);
        return partition;
    }
}
