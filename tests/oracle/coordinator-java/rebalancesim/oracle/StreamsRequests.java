package rebalancesim.oracle;

import org.apache.kafka.coordinator.group.Group;
import org.apache.kafka.coordinator.group.GroupCoordinator;

/** What is asked about streams groups (KIP-1071), which the classes of the first releases of 4.x do not have. */
interface StreamsRequests {
    /** What answers for this release. */
    static StreamsRequests ofRelease() {
        try {
            Class<?> type = Class.forName(StreamsRequests.class.getPackageName() + ".StreamsHeartbeats");
            return (StreamsRequests) type.getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException e) {
            throw new UnsupportedOperationException("streams_heartbeat");
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    void heartbeat(GroupCoordinator service, Request request);

    /** The state of a streams group, or null if the group is none. */
    Coordinator.ConsumerGroup shown(Group group);
}
