package rebalancesim.oracle;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Sticky assignors go round in circles over some groups; that must not keep the oracle from its other cases. */
final class TimeLimit {
    private static final int SECONDS = Integer.getInteger("oracle.seconds", 10);

    private TimeLimit() {
    }

    /** What a call returns or throws; where it takes too long, it is left to itself until the process ends. */
    static <T> T within(Callable<T> call) throws Exception {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new TimeoutException("no answer in " + SECONDS + " seconds");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw (Exception) e.getCause();
        }
    }
}
