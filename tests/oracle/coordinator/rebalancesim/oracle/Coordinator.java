package rebalancesim.oracle;

import java.util.Collection;
import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/** A group coordinator of one release with a clock that stands still, asked about the group GROUP_ID. */
interface Coordinator {
    String GROUP_ID = "g";

    /** Fires the timers that are due up to a time, each at its own time, and leaves the clock at that time. */
    void moveTo(long atMs);

    long nowMs();

    void join(Request request);

    void sync(Request request);

    void heartbeat(Request request);

    void leave(Request request);

    void commit(Request request);

    void fetch(Request request);

    void failStore(Errors error);

    void holdStore(boolean held);

    void finishStore();

    void checkOffsets();

    void unload();

    void load();

    /** A heartbeat of the protocol of KIP-848. */
    default void consumerHeartbeat(Request request) {
        throw new UnsupportedOperationException("consumer_heartbeat");
    }

    /** What the cluster's metadata are from now on. */
    default void topics(List<CoordinatorStep.Topic> topics) {
        throw new UnsupportedOperationException("topics");
    }

    /** The group as the coordinator keeps it, or null. */
    Group group();

    /** The same where its members follow KIP-848, or some of them; otherwise null. */
    default ConsumerGroup consumerGroup() {
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
