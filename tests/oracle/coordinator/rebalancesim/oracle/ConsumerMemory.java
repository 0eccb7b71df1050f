package rebalancesim.oracle;

import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/** What consumers of KIP-848 remember of the answers to them, so that cases need not know it. */
final class ConsumerMemory {
    /** By name, since the older releases do not know all of them. */
    private static final Set<String> FENCED = Set.of("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID");

    private final Map<String, Member> members = new HashMap<>();

    private static final class Member {
        private int epoch;
        private int epochBefore;
        private List<TopicPartition> assigned = List.of();
    }

    private Member member(String id) {
        return members.computeIfAbsent(id, name -> new Member());
    }

    /** A number, or "next" (0 for who is not a member), "before" or "ahead". */
    int epoch(String id, JsonPrimitive stated) {
        if (stated.isNumber()) {
            return stated.getAsInt();
        }
        Member member = member(id);
        return switch (stated.getAsString()) {
            case "next" -> member.epoch;
            case "before" -> member.epochBefore;
            case "ahead" -> member.epoch + 1;
            default -> throw new AssertionError("no such epoch: " + stated);
        };
    }

    /** A list, or "assigned", or "but_one": all of that except the first; null where the step has none. */
    List<TopicPartition> owned(String id, JsonElement stated) {
        if (stated == null || stated.isJsonNull()) {
            return null;
        }
        if (stated.isJsonArray()) {
            List<TopicPartition> listed = new ArrayList<>();
            stated.getAsJsonArray().forEach(partition -> listed.add(new TopicPartition(
                    partition.getAsJsonArray().get(0).getAsString(), partition.getAsJsonArray().get(1).getAsInt())));
            return listed;
        }
        List<TopicPartition> assigned = member(id).assigned;
        return stated.getAsString().equals("but_one") && !assigned.isEmpty()
                ? assigned.subList(1, assigned.size()) : assigned;
    }

    void answered(String id, Errors error, int epoch, List<TopicPartition> assigned) {
        Member member = member(id);
        if (FENCED.contains(error.name()) || epoch < 0) {
            member.epochBefore = member.epoch;
            member.epoch = 0;
            member.assigned = List.of();
        } else if (error == Errors.NONE) {
            if (epoch != member.epoch) {
                member.epochBefore = member.epoch;
            }
            member.epoch = epoch;
            if (assigned != null) {
                member.assigned = assigned.stream().sorted(CoordinatorAnswers.PARTITIONS).toList();
            }
        }
    }
}
