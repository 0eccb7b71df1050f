package rebalancesim.oracle;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** How many rebalances of Connect clusters their leaders compute a second, on one warm thread, from names to names. */
public final class ConnectBench {
    private static final int WARM_UP_SECONDS = 5;

    private ConnectBench() {
    }

    /** Measures the last rebalance of each case of the standard input; the argument is the number of seconds. */
    public static void main(String[] args) throws Exception {
        List<Callable<Object>> rules = new ArrayList<>();
        for (Case question : Main.cases().toList()) {
            rules.add(last(question));
        }
        rounds(rules, WARM_UP_SECONDS);
        System.out.println(Json.write(Map.of("cases_per_cpu_second", rounds(rules, Double.parseDouble(args[0])))));
    }

    private static double rounds(List<Callable<Object>> rules, double seconds) throws Exception {
        long start = cpuNanos();
        long count = 0;
        while (cpuNanos() - start < seconds * 1e9) {
            for (Callable<Object> rule : rules) {
                rule.call();
            }
            count += rules.size();
        }
        return count * 1e9 / (cpuNanos() - start);
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** The last rebalance of a case, which changes nothing: the leader computes the same again and again. */
    private static Callable<Object> last(Case question) throws Exception {
        Map<String, ConnectWorker> workers = ConnectAnswers.played(question);
        List<ConnectAnswers.Rebalance> steps = question.stepsAs(ConnectAnswers.Rebalance.class);
        ConnectAnswers.Rebalance last = steps.get(steps.size() - 1);
        return workers.get(last.leader()).rule(last, workers);
    }
}
