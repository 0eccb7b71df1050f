package rebalancesim.oracle;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;

/** Runs the coordinator's events one after the other, in the thread that brings the first. */
final class EventQueue implements CoordinatorEventProcessor {
    private final Deque<CoordinatorEvent> waiting = new ArrayDeque<>();
    private boolean running;

    @Override
    public void enqueueLast(CoordinatorEvent event) {
        waiting.addLast(event);
        run();
    }

    @Override
    public void enqueueFirst(CoordinatorEvent event) {
        waiting.addFirst(event);
        run();
    }

    private void run() {
        if (running) {
            return;
        }
        running = true;
        try {
            while (!waiting.isEmpty()) {
                waiting.removeFirst().run();
            }
        } finally {
            running = false;
        }
    }

    @Override
    public void close() {
        waiting.clear();
    }
}
