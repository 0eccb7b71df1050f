package rebalancesim.oracle;

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
            answer.putAll(question.isForProducers() ? ProducerAnswers.to(question) : GroupAnswers.to(question));
        } catch (Exception | AssertionError e) {
            // Scala's asserts and Kafka's own exceptions are answers: what a broker or a client would die of.
            answer.put("error", e.getClass().getSimpleName() + ": " + e.getMessage());
        }
        return answer;
    }
}
