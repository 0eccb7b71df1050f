package org.apache.kafka.coordinator.common.runtime;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.NotCoordinatorException;

/** The contexts in which a runtime keeps the coordinators of partitions, which only its package may use. */
public final class CoordinatorContexts {
    private CoordinatorContexts() {
    }

    /** Whether the coordinator of a partition is loaded. */
    public static boolean isActive(CoordinatorRuntime<?, ?> runtime, TopicPartition partition) {
        try {
            return runtime.contextOrThrow(partition).state == CoordinatorRuntime.CoordinatorState.ACTIVE;
        } catch (NotCoordinatorException e) {
            return false;
        }
    }

    /** The coordinator of a partition, or null where it is not loaded. */
    public static <S extends CoordinatorShard<U>, U> S shard(
            CoordinatorRuntime<S, U> runtime, TopicPartition partition) {
        try {
            return runtime.contextOrThrow(partition).coordinator.coordinator();
        } catch (NotCoordinatorException e) {
            return null;
        }
    }

    /** Ends what waits for the log with an error, as a write that takes too long ends. */
    public static <S extends CoordinatorShard<U>, U> void failWaiting(
            CoordinatorRuntime<S, U> runtime, TopicPartition partition, Exception error) {
        runtime.contextOrThrow(partition).deferredEventQueue.failAll(error);
    }
}
