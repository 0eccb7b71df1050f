package rebalancesim.oracle;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;

/** Reads cases as JSON lines and writes what this release's classes answer. */
public final class Main {
    private Main() {
    }

    public static void main(String[] args) {
        try (PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8)) {
            cases().map(Answers::to).map(Json::write).forEach(out::println);
        }
    }

    static Stream<Case> cases() {
        return new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).lines().map(Json::read);
    }
}
