package rebalancesim.oracle;

import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

/** A timer behind the interface in Java of the later releases. */
final class CaseTimer extends Deadlines implements Timer {
    CaseTimer(Clock clock) {
        super(clock);
    }

    @Override
    public void add(TimerTask task) {
        TimerTaskEntry entry = new TimerTaskEntry(task, nowMs() + task.delayMs);
        add(entry.expirationMs, entry::cancelled, task);
    }

    @Override
    public void close() {
    }
}
