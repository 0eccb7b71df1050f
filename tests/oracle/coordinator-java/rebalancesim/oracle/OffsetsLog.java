package rebalancesim.oracle;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.storage.internals.log.LogConfig;

/** The coordinator's partition of the offsets topic: appended to, replicated at once or on request, and read. */
final class OffsetsLog implements CoordinatorLoader<CoordinatorRecord> {
    private static final LogConfig CONFIG = new LogConfig(Map.of());
    private static final long NO_PRODUCER_ID = -1;
    private static final short NO_PRODUCER_EPOCH = -1;
    /** Types of records, with which keys begin, of classic and consumer-protocol groups and their members. */
    private static final int FIRST_OF_GROUPS = 2;
    private static final int LAST_OF_GROUPS = 8;

    private final List<CoordinatorRecord> records = new ArrayList<>();
    private PartitionWriter.Listener listener;
    private Errors error = Errors.NONE;
    private boolean held;
    private long replicated;

    void fail(Errors newError) {
        error = newError;
    }

    void hold(boolean newHeld) {
        held = newHeld;
    }

    Errors error() {
        return error;
    }

    boolean isWaiting() {
        return replicated < records.size();
    }

    void replicate(TopicPartition partition) {
        replicated = records.size();
        if (listener != null) {
            listener.onHighWatermarkUpdated(partition, replicated);
        }
    }

    /** The log as the coordinator's runtime writes to it; of each method, the releases have other parameters. */
    PartitionWriter asWriter() {
        Class<?>[] interfaces = {PartitionWriter.class};
        return (PartitionWriter) Proxy.newProxyInstance(
                PartitionWriter.class.getClassLoader(), interfaces, (proxy, method, arguments) ->
                switch (method.getName()) {
                    case "append" -> append((TopicPartition) arguments[0], arguments[2]);
                    case "config" -> CONFIG;
                    case "registerListener", "deregisterListener" -> {
                        boolean registers = method.getName().startsWith("r");
                        listener = registers ? (PartitionWriter.Listener) arguments[1] : null;
                        yield null;
                    }
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private long append(TopicPartition partition, Object batch) {
        List<CoordinatorRecord> parsed = new ArrayList<>();
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        boolean isOfGroup = false;
        // The classes of batches and records have another package since 4.3.
        for (Object record : (Iterable<?>) Matching.call(batch, List.of("records"))) {
            ByteBuffer key = (ByteBuffer) Matching.call(record, List.of("key"));
            short type = key.getShort(key.position());
            isOfGroup |= FIRST_OF_GROUPS <= type && type <= LAST_OF_GROUPS;
            parsed.add(serde.deserialize(key, (ByteBuffer) Matching.call(record, List.of("value"))));
        }
        boolean waits = held || isWaiting();
        if (!waits && error != Errors.NONE && isOfGroup) {
            throw error.exception();
        }
        records.addAll(parsed);
        if (!waits) {
            replicate(partition);
        }
        return records.size();
    }

    @Override
    public CompletableFuture<LoadSummary> load(
            TopicPartition partition, CoordinatorPlayback<CoordinatorRecord> coordinator) {
        for (int i = 0; i < records.size(); i++) {
            coordinator.replay(i, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, records.get(i));
        }
        replicated = records.size();
        if (replicated > 0) {
            coordinator.updateLastWrittenOffset(replicated);
            coordinator.updateLastCommittedOffset(replicated);
        }
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void close() {
    }
}
