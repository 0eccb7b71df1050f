package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Function;
import kafka.cluster.Partition;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.mockito.invocation.InvocationOnMock;
import scala.Function1;
import scala.Some;
import scala.Tuple2;
import scala.runtime.BoxedUnit;

/**
 * The coordinator's partition of the offsets topic, behind a stand-in for the ReplicaManager that the coordinators in
 * Scala write to: a write ends at once or on request, and what ended well can be read.
 */
final class OffsetsLog {
    private static final short GROUP_KEY_VERSION = 2;

    private final Class<?> logType;
    private final Function<MemoryRecords, Object> fetched;
    private final List<byte[]> batches = new ArrayList<>();
    private final Deque<Write> waiting = new ArrayDeque<>();
    private Errors error = Errors.NONE;
    private boolean held;
    private long endOffset;

    /** Releases call a log and what is read from it by different names. */
    OffsetsLog(Class<?> logType, Function<MemoryRecords, Object> fetched) {
        this.logType = logType;
        this.fetched = fetched;
    }

    private record Write(
            TopicPartition partition,
            MemoryRecords records,
            Function1<scala.collection.Map<TopicPartition, PartitionResponse>, BoxedUnit> callback) {
    }

    void fail(Errors newError) {
        error = newError;
    }

    void hold(boolean newHeld) {
        held = newHeld;
    }

    void finish() {
        int count = waiting.size();
        for (int i = 0; i < count; i++) {
            end(waiting.removeFirst(), error);
        }
    }

    ReplicaManager replicaManager() {
        return StandIn.of(ReplicaManager.class, this::answerAsReplicaManager);
    }

    private Object answerAsReplicaManager(InvocationOnMock call) {
        return switch (call.getMethod().getName()) {
            // Other delayed operations than the coordinator's own have nobody here who waits for them.
            case "tryCompleteActions" -> null;
            case "getMagic" -> new Some<>(RecordBatch.CURRENT_MAGIC_VALUE);
            case "appendRecords" -> append(call);
            case "getLog" -> new Some<>(StandIn.of(logType, this::answerAsLog));
            case "getLogEndOffset" -> new Some<>(endOffset);
            case "nonOfflinePartition", "onlinePartition" ->
                    new Some<>(StandIn.of(Partition.class, this::answerAsPartition));
            default -> StandIn.other(call);
        };
    }

    private Object answerAsLog(InvocationOnMock call) {
        return switch (call.getMethod().getName()) {
            case "logStartOffset" -> 0L;
            case "read" -> fetched.apply(from(call.getArgument(0)));
            default -> StandIn.other(call);
        };
    }

    /** Tombstones are written to the leader's log alone, and nobody waits for them. */
    private Object answerAsPartition(InvocationOnMock call) {
        if (call.getMethod().getName().equals("appendRecordsToLeader")) {
            MemoryRecords records = call.getArgument(0);
            if (error != Errors.NONE && isOfGroup(records)) {
                throw error.exception();
            }
            store(records);
            return null;
        }
        return StandIn.other(call);
    }

    private Object append(InvocationOnMock call) {
        scala.collection.Map<TopicPartition, MemoryRecords> entries = call.getArgument(4);
        Tuple2<TopicPartition, MemoryRecords> entry = entries.head();
        Write write = new Write(entry._1(), entry._2(), call.getArgument(5));
        if (held || !waiting.isEmpty()) {
            waiting.addLast(write);
        } else {
            end(write, isOfGroup(write.records) ? error : Errors.NONE);
        }
        return null;
    }

    private void end(Write write, Errors result) {
        long offset = result == Errors.NONE ? store(write.records) : -1;
        PartitionResponse response = new PartitionResponse(result, offset, RecordBatch.NO_TIMESTAMP, 0);
        write.callback.apply(new scala.collection.immutable.Map.Map1<>(write.partition, response));
    }

    private static boolean isOfGroup(MemoryRecords records) {
        for (Record record : records.records()) {
            if (record.key().getShort(0) == GROUP_KEY_VERSION) {
                return true;
            }
        }
        return false;
    }

    private long store(MemoryRecords records) {
        ByteBuffer copy = ByteBuffer.allocate(records.sizeInBytes());
        copy.put(records.buffer().duplicate());
        copy.flip();
        long first = endOffset;
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(copy).batches()) {
            batch.setLastOffset(endOffset + batch.countOrNull() - 1);
            endOffset += batch.countOrNull();
        }
        batches.add(copy.array());
        return first;
    }

    private MemoryRecords from(long offset) {
        if (offset >= endOffset) {
            return MemoryRecords.EMPTY;
        }
        ByteBuffer everything = ByteBuffer.allocate(batches.stream().mapToInt(batch -> batch.length).sum());
        batches.forEach(everything::put);
        everything.flip();
        return MemoryRecords.readableRecords(everything);
    }
}
