package org.apache.kafka.clients.producer.internals;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.utils.LogContext;

/** The calls of {@code BuiltInPartitioner} that only the package of Kafka's producer may make. */
public final class BuiltInPartitionerCall {
    private final BuiltInPartitioner partitioner;

    public BuiltInPartitionerCall(String topic, int stickyBatchSize) {
        partitioner = new BuiltInPartitioner(new LogContext(), topic, stickyBatchSize);
    }

    public int peek(Cluster cluster) {
        return partitioner.peekCurrentPartitionInfo(cluster).partition();
    }

    /** As RecordAccumulator does it: what it looked up before it appended is what it updates. */
    public void update(int appendedBytes, Cluster cluster, boolean enableSwitch) {
        var sticky = partitioner.peekCurrentPartitionInfo(cluster);
        partitioner.updatePartitionInfo(sticky, appendedBytes, cluster, enableSwitch);
    }

    public void updateLoadStats(int[] queueSizes, int[] partitionIds, int length) {
        partitioner.updatePartitionLoadStats(queueSizes, partitionIds, length);
    }
}
