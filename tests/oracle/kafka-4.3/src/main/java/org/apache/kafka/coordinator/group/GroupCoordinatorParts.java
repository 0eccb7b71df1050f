package org.apache.kafka.coordinator.group;

import java.lang.reflect.Field;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.server.util.timer.Timer;

/** What only the package of Kafka's coordinator may put together or read. */
public final class GroupCoordinatorParts {
    private GroupCoordinatorParts() {
    }

    /** The service around a given runtime; its builder would make one with threads. */
    public static GroupCoordinatorService service(
            GroupCoordinatorConfig config,
            CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime,
            GroupCoordinatorMetrics metrics,
            GroupConfigManager groupConfigs,
            Timer timer) {
        return new GroupCoordinatorService(
                new LogContext(), config, runtime, metrics, groupConfigs, null, timer, null);
    }

    /** A group that the coordinator has, or null. */
    public static Group group(GroupCoordinatorShard shard, String groupId) {
        try {
            Field field = GroupCoordinatorShard.class.getDeclaredField("groupMetadataManager");
            field.setAccessible(true);
            return ((GroupMetadataManager) field.get(shard)).group(groupId);
        } catch (GroupIdNotFoundException e) {
            return null;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
