package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/**
 * The bytes in which a sticky consumer sends its last assignment: [topic, [partition]], then the generation.
 *
 * <p>Topics are grouped as the release's consumers group them: since 2.1 in a HashMap filled by computeIfAbsent, which
 * puts a newcomer at the head of its bucket, before that by put, which puts it at the end.
 */
final class StickyUserData {
    private StickyUserData() {
    }

    /** Null where the member has nothing to send, as in a consumer's first join. */
    static ByteBuffer of(Case.Member member) {
        List<TopicPartition> owned = member.ownedOrNone();
        int generation = member.generationOrNone();
        if (owned.isEmpty() && generation < 0) {
            return null;
        }
        Map<String, List<Integer>> byTopic = new HashMap<>();
        boolean byPut = Release.isBefore(2, 1);
        for (TopicPartition partition : owned) {
            if (byPut && !byTopic.containsKey(partition.topic())) {
                byTopic.put(partition.topic(), new ArrayList<>());
            }
            byTopic.computeIfAbsent(partition.topic(), topic -> new ArrayList<>()).add(partition.partition());
        }
        return encode(byTopic, !Release.isBefore(2, 3) && generation >= 0 ? generation : null);
    }

    private static ByteBuffer encode(Map<String, List<Integer>> byTopic, Integer generation) {
        int size = 2 * Integer.BYTES;
        for (Map.Entry<String, List<Integer>> entry : byTopic.entrySet()) {
            int nameBytes = entry.getKey().getBytes(StandardCharsets.UTF_8).length;
            size += Short.BYTES + nameBytes + Integer.BYTES * (1 + entry.getValue().size());
        }
        ByteBuffer buffer = ByteBuffer.allocate(size);
        buffer.putInt(byTopic.size());
        byTopic.forEach((topic, partitions) -> {
            byte[] name = topic.getBytes(StandardCharsets.UTF_8);
            buffer.putShort((short) name.length).put(name).putInt(partitions.size());
            partitions.forEach(buffer::putInt);
        });
        if (generation != null) {
            buffer.putInt(generation);
        }
        return buffer.flip();
    }
}
