package rebalancesim.oracle;

import java.util.Collection;
import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/** A group coordinator of one release with a clock of its own, asked about the group GROUP_ID. */
abstract class Coordinator {
    static final String GROUP_ID = "g";

    final Clock clock = new Clock();
    final CaseTimer timer = new CaseTimer(clock);
    final OffsetsLog log;

    Coordinator(OffsetsLog log) {
        this.log = log;
    }

    /** Fires the timers that are due up to a time, each at its own time, and leaves the clock at that time. */
    final void moveTo(long atMs) {
        timer.moveTo(atMs);
    }

    final long nowMs() {
        return timer.nowMs();
    }

    final void failStore(Errors error) {
        log.fail(error);
    }

    final void holdStore(boolean held) {
        log.hold(held);
    }

    abstract void join(Request request);

    abstract void sync(Request request);

    abstract void heartbeat(Request request);

    abstract void leave(Request request);

    abstract void commit(Request request);

    abstract void fetch(Request request);

    abstract void finishStore();

    abstract void checkOffsets();

    abstract void unload();

    abstract void load();

    /** A heartbeat of the protocol of KIP-848. */
    void consumerHeartbeat(Request request) {
        throw new UnsupportedOperationException("consumer_heartbeat");
    }

    /** A heartbeat of a member of a share group (KIP-932). */
    void shareHeartbeat(Request request) {
        throw new UnsupportedOperationException("share_heartbeat");
    }

    /** A heartbeat of a member of a streams group (KIP-1071). */
    void streamsHeartbeat(Request request) {
        throw new UnsupportedOperationException("streams_heartbeat");
    }

    /** What the cluster's metadata are from now on. */
    void topics(List<CoordinatorStep.Topic> topics) {
        throw new UnsupportedOperationException("topics");
    }

    /** The group as the coordinator keeps it, or null. */
    abstract Group group();

    /** The same where its members follow KIP-848, or some of them, or KIP-932 or KIP-1071; otherwise null. */
    ConsumerGroup consumerGroup() {
        return null;
    }

    record ConsumerGroup(String state, int groupEpoch, int targetEpoch, List<ConsumerGroupMember> members) {
    }

    record ConsumerGroupMember(
            String memberId,
            String instanceId,
            int epoch,
            int previousEpoch,
            String state,
            boolean isClassic,
            List<TopicPartition> assigned,
            List<TopicPartition> pendingRevocation) {
    }

    record Group(
            String state, int generation, String leader, String protocol, Collection<String> memberIds, int pending) {
    }
}
