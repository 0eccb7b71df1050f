package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Runs tasks in the order of their deadlines, of equal ones the one added first, with the clock at the deadline. */
abstract class Deadlines {
    private final Clock clock;
    private final List<Task> waiting = new ArrayList<>();
    private long nowMs;

    private record Task(long atMs, BooleanSupplier cancelled, Runnable action) {
    }

    Deadlines(Clock clock) {
        this.clock = clock;
    }

    final long nowMs() {
        return nowMs;
    }

    final void add(long atMs, BooleanSupplier cancelled, Runnable action) {
        waiting.add(new Task(atMs, cancelled, action));
    }

    final void moveTo(long atMs) {
        waiting.removeIf(task -> task.cancelled.getAsBoolean());
        Task next = next();
        while (next != null && next.atMs <= atMs) {
            waiting.remove(next);
            set(next.atMs);
            if (!next.cancelled.getAsBoolean()) {
                next.action.run();
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

    private Task next() {
        // The first of those that are equal, which is the one added first.
        return waiting.stream().min(Comparator.comparingLong(Task::atMs)).orElse(null);
    }

    public final boolean advanceClock(long timeoutMs) {
        throw new UnsupportedOperationException();
    }

    public final int size() {
        return waiting.size();
    }
}
