package rebalancesim.oracle;

import java.util.concurrent.ScheduledFuture;
import org.apache.kafka.server.util.KafkaScheduler;

/** Runs at once what the coordinator leaves to a thread of its own: the loading and unloading of partitions. */
final class SameThreadScheduler extends KafkaScheduler {
    SameThreadScheduler() {
        super(1);
    }

    @Override
    public void startup() {
    }

    @Override
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        task.run();
        return null;
    }
}
