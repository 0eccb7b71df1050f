package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

/** Fires tasks in the order of their deadlines, of equal ones the one added first, and takes the clock there. */
final class CaseTimer implements Timer {
    private final Clock clock;
    private final List<TimerTaskEntry> waiting = new ArrayList<>();
    private long nowMs;

    CaseTimer(Clock clock) {
        this.clock = clock;
    }

    long nowMs() {
        return nowMs;
    }

    void moveTo(long atMs) {
        waiting.removeIf(TimerTaskEntry::cancelled);
        TimerTaskEntry next = next();
        while (next != null && next.expirationMs <= atMs) {
            waiting.remove(next);
            set(next.expirationMs);
            if (!next.cancelled()) {
                next.timerTask.run();
            }
            next = next();
        }
        set(atMs);
    }

    /** A task whose deadline has passed already is due now. */
    private void set(long atMs) {
        nowMs = Math.max(nowMs, atMs);
        clock.set(nowMs);
    }

    private TimerTaskEntry next() {
        // The first of those that are equal, which is the one added first.
        return waiting.stream().min(Comparator.comparingLong(entry -> entry.expirationMs)).orElse(null);
    }

    @Override
    public void add(TimerTask task) {
        waiting.add(new TimerTaskEntry(task, nowMs + task.delayMs));
    }

    @Override
    public boolean advanceClock(long timeoutMs) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int size() {
        return waiting.size();
    }

    @Override
    public void close() {
        waiting.clear();
    }
}
