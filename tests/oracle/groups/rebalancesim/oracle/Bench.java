package rebalancesim.oracle;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Cases a second on one warm thread; everything but Kafka's own call is prepared before the clock starts. */
public final class Bench {
    /** Read by nobody: keeps the compiler from dropping calls whose result is not used. */
    private static volatile Object sink;

    private static final String FROM_BYTES = "-from-bytes";
    private static final int FEWEST_WARM_UPS = 3;
    private static final int MOST_WARM_UPS = 30;
    /** What the compiler has not seen of calls that take so long, it will not see in more of them. */
    private static final double LONG_CALLS_SECONDS = 10;
    private static final long SETTLED_COMPILATION_MS = 20;

    private Bench() {
    }

    /** Measures the rule of the first argument, for the seconds of the second, with the cases of the standard input. */
    public static void main(String[] args) {
        System.out.println(Json.write(measure(args[0], Double.parseDouble(args[1]), Main.cases().toList())));
    }

    /** One call of Kafka's class that can be made again and again. */
    interface Prepared {
        Object run();

        /** Undoes what a call leaves behind; not timed. */
        default void rewind() {
        }

        /** The same from the bytes of the members' subscriptions to those of their assignments. */
        default Prepared fromBytes() {
            throw new UnsupportedOperationException("Kafka " + Release.VERSION + " is not measured from bytes");
        }
    }

    private static Map<String, Object> measure(String rule, double seconds, List<Case> cases) {
        List<Prepared> calls = new ArrayList<>();
        cases.forEach(question -> calls.add(prepare(rule, question)));
        Timing timing = first(calls);
        if (calls.isEmpty()) {
            throw new IllegalArgumentException("no case has an answer");
        }
        if (timing.cpuSeconds < LONG_CALLS_SECONDS) {
            warmUp(calls);
            timing = rounds(calls, seconds);
        }
        double answered = timing.count * (double) calls.size();
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("rule", rule);
        result.put("kafka", Release.VERSION);
        result.put("cases_per_second", answered / timing.wallSeconds);
        result.put("cases_per_cpu_second", answered / timing.cpuSeconds);
        result.put("rounds", timing.count);
        return result;
    }

    /** The first round, after which only the calls are left that answer. */
    private static Timing first(List<Prepared> calls) {
        long wallStart = System.nanoTime();
        long cpuStart = cpuNanos();
        calls.removeIf(call -> !answers(call));
        return new Timing(1, (System.nanoTime() - wallStart) / 1e9, (cpuNanos() - cpuStart) / 1e9);
    }

    /** Cases that end in an exception measure how slow exceptions are, not the rule. */
    private static boolean answers(Prepared call) {
        try {
            call.run();
            call.rewind();
            return true;
        } catch (Exception | AssertionError e) {
            return false;
        }
    }

    /** Runs until the compiler has nothing left to do; a fixed time is too short where others load the machine. */
    private static void warmUp(List<Prepared> calls) {
        for (int i = 0; i < MOST_WARM_UPS; i++) {
            long before = compilationMillis();
            rounds(calls, 1);
            boolean settled = compilationMillis() - before < SETTLED_COMPILATION_MS;
            if (settled && i + 1 >= FEWEST_WARM_UPS) {
                return;
            }
        }
    }

    private static long compilationMillis() {
        return ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
    }

    /** Processor time measures the speed of the code even where the thread has to wait for its core. */
    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private record Timing(long count, double wallSeconds, double cpuSeconds) {
    }

    private static Timing rounds(List<Prepared> calls, double seconds) {
        long wanted = (long) (seconds * 1e9);
        long wall = 0;
        long cpu = 0;
        long count = 0;
        while (wall < wanted || cpu < wanted) {
            long cpuStart = cpuNanos();
            long start = System.nanoTime();
            for (Prepared call : calls) {
                sink = call.run();
            }
            wall += System.nanoTime() - start;
            cpu += cpuNanos() - cpuStart;
            count++;
            calls.forEach(Prepared::rewind);
        }
        return new Timing(count, wall / 1e9, cpu / 1e9);
    }

    private static Prepared prepare(String rule, Case question) {
        if (rule.endsWith(FROM_BYTES)) {
            return prepare(rule.substring(0, rule.length() - FROM_BYTES.length()), question).fromBytes();
        }
        return switch (rule) {
            case "election" -> election(question);
            case "election_with_join" -> electionWithJoin(question);
            case "streams-sticky" -> StreamsAssignorCall.prepare(question);
            default -> Case.isServerSide(rule)
                    ? ServerAssignorCall.prepare(rule, question)
                    : AssignorCall.prepare(rule, question);
        };
    }

    private static Prepared election(Case question) {
        CoordinatorGroup group = new CoordinatorGroup();
        admitted(question).forEach(member -> group.add(CoordinatorGroup.member(member)));
        return group::selectProtocol;
    }

    private static Prepared electionWithJoin(Case question) {
        var members = admitted(question).stream().map(CoordinatorGroup::member).toList();
        return () -> {
            CoordinatorGroup group = new CoordinatorGroup();
            members.forEach(group::add);
            return group.selectProtocol();
        };
    }

    private static List<Case.Member> admitted(Case question) {
        CoordinatorGroup group = new CoordinatorGroup();
        List<Case.Member> admitted = new ArrayList<>();
        for (Case.Member member : question.members()) {
            var joiner = CoordinatorGroup.member(member);
            if (group.admits(joiner)) {
                group.add(joiner);
                admitted.add(member);
            }
        }
        return admitted;
    }
}
