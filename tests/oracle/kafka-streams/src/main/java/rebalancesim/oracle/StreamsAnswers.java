package rebalancesim.oracle;

import java.util.LinkedHashMap;
import java.util.Map;

/** What Kafka Streams of any release makes of one case. Its inputs are in {@code config}. */
final class StreamsAnswers {
    private StreamsAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        answer.putAll(switch (question.rule()) {
            case "streams-tasks" -> TimeLimit.within(
                    () -> StreamsTasks.assigned(Json.convert(question.config(), StreamsCase.class)));
            default -> throw new UnsupportedOperationException(question.rule());
        });
        return answer;
    }
}
