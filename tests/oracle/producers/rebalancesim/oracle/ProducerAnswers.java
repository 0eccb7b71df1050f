package rebalancesim.oracle;

import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Utils;

/** What this release's producer makes of one case. */
final class ProducerAnswers {
    private ProducerAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        switch (question.rule()) {
            case "murmur2" -> {
                List<Integer> hashes = murmur2(question);
                answer.put("murmur2", hashes);
                answer.put("positive", hashes.stream().map(Utils::toPositive).toList());
            }
            case "default-partitioner" -> answer.put("partitions", DefaultPartitionerSteps.answers(question));
            case "built-in-partitioner" -> answer.put("partitions", BuiltInPartitionerSteps.answers(question));
            default -> answer.putAll(new ProducerRun(question).answer());
        }
        return answer;
    }

    private static List<Integer> murmur2(Case question) {
        return question.keys().stream().map(ProducerAnswers::bytes).map(Utils::murmur2).toList();
    }

    static byte[] bytes(String hexadecimal) {
        return hexadecimal == null ? null : HexFormat.of().parseHex(hexadecimal);
    }
}
