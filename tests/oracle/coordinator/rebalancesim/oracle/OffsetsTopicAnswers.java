package rebalancesim.oracle;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The bytes that this release's coordinator writes into __consumer_offsets, and how its console consumer prints them. */
final class OffsetsTopicAnswers {
    private OffsetsTopicAnswers() {
    }

    /** The formatters of the releases have no interface in common. */
    interface Formatter {
        void writeTo(ConsumerRecord<byte[], byte[]> record, PrintStream out);
    }

    static Map<String, Object> to(Case question) throws Exception {
        List<Map<String, Object>> records = new ArrayList<>();
        for (OffsetsTopicRecord step : question.stepsAs(OffsetsTopicRecord.class)) {
            records.add(written(step));
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        answer.put("records", records);
        return answer;
    }

    private static Map<String, Object> written(OffsetsTopicRecord step) throws Exception {
        byte[] key = OffsetsTopicCall.key(step);
        byte[] value = step.value() == null ? null : OffsetsTopicCall.value(step);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("key", HexFormat.of().formatHex(key));
        answer.put("value", value == null ? null : HexFormat.of().formatHex(value));
        answer.put("printed", printed(key, value));
        return answer;
    }

    /** By each of the formatters: empty where one passes over the record, null where it throws. */
    private static List<String> printed(byte[] key, byte[] value) {
        List<String> printed = new ArrayList<>();
        for (Formatter formatter : OffsetsTopicCall.formatters()) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
                formatter.writeTo(new ConsumerRecord<>("__consumer_offsets", 0, 0, key, value), out);
            } catch (RuntimeException e) {
                // 3.9 reads values of any type as its own.
                printed.add(null);
                continue;
            }
            printed.add(bytes.toString(StandardCharsets.UTF_8));
        }
        return printed;
    }
}
