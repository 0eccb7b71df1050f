package rebalancesim.oracle;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;

/** How many rebalances of Connect clusters their leaders compute a second, on one warm thread, from bytes to bytes. */
public final class ConnectBench {
    private static final int WARM_UP_SECONDS = 5;

    private ConnectBench() {
    }

    /** Measures the last rebalance of each case of the standard input; the argument is the number of seconds. */
    public static void main(String[] args) throws Exception {
        List<Prepared> prepared = new ArrayList<>();
        for (Case question : Main.cases().toList()) {
            prepared.add(Prepared.of(question));
        }
        rounds(prepared, WARM_UP_SECONDS);
        System.out.println(Json.write(Map.of("cases_per_cpu_second", rounds(prepared, Double.parseDouble(args[0])))));
    }

    private static double rounds(List<Prepared> prepared, double seconds) throws Exception {
        long start = cpuNanos();
        long count = 0;
        while (cpuNanos() - start < seconds * 1e9) {
            for (Prepared each : prepared) {
                each.leader.assign(each.rebalance, each.joined);
            }
            count += prepared.size();
        }
        return count * 1e9 / (cpuNanos() - start);
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** A rebalance that changes nothing, so that the leader computes the same again and again. */
    private record Prepared(ConnectWorker leader, ConnectAnswers.Rebalance rebalance, List<JoinGroupResponseMember> joined) {
        static Prepared of(Case question) throws Exception {
            Map<String, ConnectWorker> workers = ConnectAnswers.played(question);
            List<ConnectAnswers.Rebalance> steps = question.stepsAs(ConnectAnswers.Rebalance.class);
            ConnectAnswers.Rebalance last = steps.get(steps.size() - 1);
            List<JoinGroupResponseMember> joined = new ArrayList<>();
            for (String id : last.workers()) {
                byte[] metadata = workers.get(id).metadata(last.protocol(), last.offset());
                joined.add(new JoinGroupResponseMember().setMemberId(id).setMetadata(metadata));
            }
            return new Prepared(workers.get(last.leader()), last, joined);
        }
    }
}
