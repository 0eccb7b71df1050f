package rebalancesim.oracle;

import kafka.utils.timer.Timer;
import kafka.utils.timer.TimerTask;
import kafka.utils.timer.TimerTaskEntry;

/** A timer behind the interface in Scala of the earlier releases. */
final class CaseTimer extends Deadlines implements Timer {
    CaseTimer(Clock clock) {
        super(clock);
    }

    @Override
    public void add(TimerTask task) {
        TimerTaskEntry entry = new TimerTaskEntry(task, nowMs() + task.delayMs());
        add(entry.expirationMs(), entry::cancelled, task);
    }

    @Override
    public void shutdown() {
    }
}
