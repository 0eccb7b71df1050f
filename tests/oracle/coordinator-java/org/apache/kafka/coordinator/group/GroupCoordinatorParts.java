package org.apache.kafka.coordinator.group;

import java.lang.reflect.Field;
import org.apache.kafka.common.errors.GroupIdNotFoundException;

/** What only the package of Kafka's coordinator may put together or read. */
public final class GroupCoordinatorParts {
    private GroupCoordinatorParts() {
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
