package rebalancesim.oracle;

import java.util.concurrent.TimeUnit;
import kafka.utils.KafkaScheduler;
import scala.Function0;
import scala.runtime.BoxedUnit;

/** Runs at once what the coordinator leaves to a thread of its own: the loading and unloading of partitions. */
final class SameThreadScheduler extends KafkaScheduler {
    SameThreadScheduler() {
        super(1, "", true);
    }

    @Override
    public void startup() {
    }

    @Override
    public void schedule(String name, Function0<BoxedUnit> task, long delay, long period, TimeUnit unit) {
        task.apply();
    }
}
