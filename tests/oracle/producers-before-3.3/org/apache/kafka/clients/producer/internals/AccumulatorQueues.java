package org.apache.kafka.clients.producer.internals;

import java.util.Deque;
import org.apache.kafka.common.TopicPartition;

/** What only the package of Kafka's producer may read of an accumulator. */
public final class AccumulatorQueues {
    private AccumulatorQueues() {
    }

    public static Deque<ProducerBatch> queue(RecordAccumulator accumulator, TopicPartition partition) {
        return accumulator.batches().get(partition);
    }
}
