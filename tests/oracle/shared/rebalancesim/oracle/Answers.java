package rebalancesim.oracle;

import java.lang.reflect.InvocationTargetException;
import java.util.LinkedHashMap;
import java.util.Map;

/** What this release's classes make of one case. */
final class Answers {
    private Answers() {
    }

    static Map<String, Object> to(Case question) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", question.id());
        try {
            answer.putAll(ofRelease(question));
        } catch (Exception | AssertionError e) {
            // Scala's asserts and Kafka's own exceptions are answers: what a broker or a client would die of.
            answer.put("error", e.getClass().getSimpleName() + ": " + e.getMessage());
        }
        return answer;
    }

    /** By name: a module compiles the classes for what its release is asked about, and no others. */
    @SuppressWarnings("unchecked")
    private static Map<String, Object> ofRelease(Case question) throws Exception {
        try {
            return (Map<String, Object>) Class.forName("rebalancesim.oracle." + question.answeredBy())
                    .getDeclaredMethod("to", Case.class).invoke(null, question);
        } catch (ClassNotFoundException e) {
            throw new UnsupportedOperationException(
                    "Kafka " + Release.VERSION + " is not asked about " + question.rule());
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw (Exception) e.getCause();
        }
    }
}
