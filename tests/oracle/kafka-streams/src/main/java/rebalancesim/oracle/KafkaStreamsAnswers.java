package rebalancesim.oracle;

import java.util.LinkedHashMap;
import java.util.Map;

/** What Kafka Streams of any release makes of one case. Its inputs are in {@code config}. */
final class KafkaStreamsAnswers {
    private KafkaStreamsAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        answer.putAll(switch (question.rule()) {
            case "kafka-streams-tasks" -> TimeLimit.within(
                    () -> StreamsTasks.assigned(Json.convert(question.config(), StreamsCase.class)));
            case "kafka-streams-leader" -> TimeLimit.within(
                    () -> StreamsLeader.assigned(Json.convert(question.config(), StreamsLeader.Group.class)));
            case "kafka-streams-topology" -> new StreamsTopology(
                    Json.convert(question.config(), StreamsLeader.Group.class).topology()).described();
            case "kafka-streams-write-subscription" ->
                    StreamsWire.writtenSubscription(Json.convert(question.config(), StreamsWire.Fields.class));
            case "kafka-streams-write-assignment" ->
                    StreamsWire.writtenAssignment(Json.convert(question.config(), StreamsWire.Fields.class));
            case "kafka-streams-read-subscription", "kafka-streams-read-assignment" -> read(question);
            default -> throw new UnsupportedOperationException(question.rule());
        });
        return answer;
    }

    /** Old releases make lists as long as malformed bytes say, for which there is no memory. */
    private static Map<String, Object> read(Case question) throws Exception {
        try {
            return question.rule().equals("kafka-streams-read-subscription")
                    ? StreamsWire.readSubscription(question.bytes()) : StreamsWire.readAssignment(question.bytes());
        } catch (OutOfMemoryError e) {
            throw new IllegalArgumentException(e);
        }
    }
}
