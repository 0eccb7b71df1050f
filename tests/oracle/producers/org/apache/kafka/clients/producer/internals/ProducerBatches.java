package org.apache.kafka.clients.producer.internals;

import org.apache.kafka.common.TopicPartition;

/** What only the package of Kafka's producer may read of a batch. */
public final class ProducerBatches {
    private ProducerBatches() {
    }

    public static TopicPartition partition(ProducerBatch batch) {
        return batch.topicPartition;
    }

    public static int recordCount(ProducerBatch batch) {
        return batch.recordCount;
    }

    public static long createdMs(ProducerBatch batch) {
        return batch.createdMs;
    }
}
