package rebalancesim.oracle;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Reads cases as JSON lines and writes what this release's classes answer, or how fast they do. */
public final class Main {
    private Main() {
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8)) {
            if (args.length == 0) {
                answer(in, out);
            } else if (args.length == 3 && args[0].equals("--bench")) {
                List<Case> cases = in.lines().map(Json::read).toList();
                out.println(Json.write(Bench.measure(args[1], Double.parseDouble(args[2]), cases)));
            } else {
                System.err.println("usage: Main [--bench RULE SECONDS] < cases.jsonl");
                System.exit(2);
            }
        }
    }

    private static void answer(BufferedReader in, PrintStream out) throws IOException {
        String line;
        while ((line = in.readLine()) != null) {
            out.println(Json.write(Answers.to(Json.read(line))));
        }
    }
}
