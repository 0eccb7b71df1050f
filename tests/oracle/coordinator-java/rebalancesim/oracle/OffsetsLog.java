package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordType;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;

/** The coordinator's partition of the offsets topic: appended to, replicated at once or on request, and read. */
final class OffsetsLog implements PartitionWriter, CoordinatorLoader<CoordinatorRecord> {
    private static final LogConfig CONFIG = new LogConfig(Map.of());
    private static final Set<Short> GROUP_RECORDS = Set.of(
            CoordinatorRecordType.GROUP_METADATA.id(),
            CoordinatorRecordType.CONSUMER_GROUP_METADATA.id(),
            CoordinatorRecordType.CONSUMER_GROUP_MEMBER_METADATA.id(),
            CoordinatorRecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA.id(),
            CoordinatorRecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER.id(),
            CoordinatorRecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT.id());

    private final List<CoordinatorRecord> records = new ArrayList<>();
    private Listener listener;
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

    @Override
    public long append(TopicPartition partition, VerificationGuard guard, MemoryRecords batch, short version) {
        List<CoordinatorRecord> parsed = parse(batch);
        boolean waits = held || isWaiting();
        if (!waits && error != Errors.NONE && parsed.stream().anyMatch(OffsetsLog::isOfGroup)) {
            throw error.exception();
        }
        records.addAll(parsed);
        if (!waits) {
            replicate(partition);
        }
        return records.size();
    }

    private static List<CoordinatorRecord> parse(MemoryRecords batch) {
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        List<CoordinatorRecord> parsed = new ArrayList<>();
        for (Record record : batch.records()) {
            ByteBuffer value = record.hasValue() ? record.value() : null;
            parsed.add(serde.deserialize(record.key(), value));
        }
        return parsed;
    }

    private static boolean isOfGroup(CoordinatorRecord record) {
        return GROUP_RECORDS.contains(record.key().apiKey());
    }

    @Override
    public CompletableFuture<LoadSummary> load(
            TopicPartition partition, CoordinatorPlayback<CoordinatorRecord> coordinator) {
        for (int i = 0; i < records.size(); i++) {
            coordinator.replay(i, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, records.get(i));
        }
        replicated = records.size();
        if (replicated > 0) {
            coordinator.updateLastWrittenOffset(replicated);
            coordinator.updateLastCommittedOffset(replicated);
        }
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void registerListener(TopicPartition partition, Listener newListener) {
        listener = newListener;
    }

    @Override
    public void deregisterListener(TopicPartition partition, Listener oldListener) {
        listener = null;
    }

    @Override
    public LogConfig config(TopicPartition partition) {
        return CONFIG;
    }

    @Override
    public CompletableFuture<VerificationGuard> maybeStartTransactionVerification(
            TopicPartition partition, String transactionalId, long producerId, short producerEpoch, int apiVersion) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> deleteRecords(TopicPartition partition, long deleteBeforeOffset) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
    }
}
