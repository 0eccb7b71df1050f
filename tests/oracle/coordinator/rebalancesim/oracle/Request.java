package rebalancesim.oracle;

import com.google.gson.JsonArray;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/** A step that asks the coordinator for something, and where the answer is noted down. */
final class Request {
    private final CoordinatorStep step;
    private final int index;
    private final MemberIds ids;
    private final ConsumerMemory consumers;
    private final LongSupplier nowMs;
    private final List<Map<String, Object>> answers;

    Request(
            CoordinatorStep step,
            int index,
            MemberIds ids,
            ConsumerMemory consumers,
            LongSupplier nowMs,
            List<Map<String, Object>> answers) {
        this.step = step;
        this.index = index;
        this.ids = ids;
        this.consumers = consumers;
        this.nowMs = nowMs;
        this.answers = answers;
    }

    record Joined(String memberId, String instanceId, byte[] metadata) {
    }

    record Join(
            Errors error,
            String memberId,
            int generation,
            String protocol,
            String leader,
            Boolean skipAssignment,
            List<Joined> members) {
    }

    record Left(String memberId, Errors error) {
    }

    CoordinatorStep step() {
        return step;
    }

    String memberId() {
        return ids.idOf(step.member());
    }

    int memberEpoch() {
        return consumers.epoch(memberId(), step.memberEpoch());
    }

    /** The partitions a consumer claims to own; null if it joins with those it remembers. */
    List<TopicPartition> owned() {
        List<TopicPartition> owned = consumers.owned(memberId(), step.owned());
        boolean remembered = owned != null && step.owned().isJsonPrimitive();
        return remembered && memberEpoch() == 0 ? List.of() : owned;
    }

    String memberId(CoordinatorStep.Leaver leaver) {
        return ids.idOf(leaver.member());
    }

    Map<String, byte[]> assignments() {
        Map<String, byte[]> byMember = new LinkedHashMap<>();
        for (JsonArray assignment : step.assignments()) {
            byMember.put(ids.idOf(assignment.get(0).getAsJsonPrimitive()), bytes(assignment.get(1).getAsString()));
        }
        return byMember;
    }

    void answer(Errors error) {
        noted(error);
    }

    void answerJoin(Join join) {
        Map<String, Object> answer = noted(join.error);
        answer.put("member", join.memberId == null ? null : ids.nameOf(join.memberId));
        answer.put("generation", join.generation);
        answer.put("protocol", emptyAsNull(join.protocol));
        answer.put("leader", emptyAsNull(join.leader) == null ? null : ids.nameOf(join.leader));
        if (join.skipAssignment != null) {
            answer.put("skip_assignment", join.skipAssignment);
        }
        List<Object> members = new ArrayList<>();
        for (Joined member : join.members) {
            List<Object> shown = new ArrayList<>();
            shown.add(ids.nameOf(member.memberId));
            shown.add(member.instanceId);
            shown.add(text(member.metadata));
            members.add(shown);
        }
        answer.put("members", members);
    }

    /** `assigned` is null where the answer has no assignment. */
    void answerConsumerHeartbeat(
            Errors error, String memberId, int epoch, int intervalMs, List<TopicPartition> assigned) {
        consumers.answered(memberId(), error, epoch, assigned);
        Map<String, Object> answer = noted(error);
        answer.put("member", memberId == null ? null : ids.nameOf(memberId));
        answer.put("epoch", epoch);
        answer.put("interval_ms", intervalMs);
        answer.put("assigned", assigned == null ? null : CoordinatorAnswers.shown(assigned));
    }

    /** `assigned` are tasks; `statuses` is what the answer says of the group beside them. */
    void answerStreamsHeartbeat(
            Errors error,
            String memberId,
            int epoch,
            int intervalMs,
            List<TopicPartition> assigned,
            List<String> statuses) {
        answerConsumerHeartbeat(error, memberId, epoch, intervalMs, assigned);
        answers.get(answers.size() - 1).put("statuses", statuses);
    }

    void answerSync(Errors error, byte[] assignment) {
        noted(error).put("assignment", text(assignment));
    }

    void answerLeave(Errors error, List<Left> members) {
        noted(error).put("members", members.stream()
                .map(left -> List.of(ids.nameOf(left.memberId), left.error.name()))
                .toList());
    }

    /** A commit has no error of its own: that of the first partition stands for it. */
    void answerCommit(Map<TopicPartition, Errors> errors) {
        List<TopicPartition> asked = step.offsetsToCommit().stream().map(CoordinatorStep.Offset::partition).toList();
        noted(errors.get(asked.get(0))).put("errors", asked.stream()
                .map(partition -> List.of(partition.topic(), partition.partition(), errors.get(partition).name()))
                .toList());
    }

    void answerFetch(Errors error, Map<TopicPartition, Long> offsets) {
        noted(error).put("offsets", step.topics().stream()
                .filter(offsets::containsKey)
                .map(partition -> List.of(partition.topic(), partition.partition(), offsets.get(partition)))
                .toList());
    }

    private Map<String, Object> noted(Errors error) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("step", index);
        answer.put("at_ms", nowMs.getAsLong());
        answer.put("error", error.name());
        answers.add(answer);
        return answer;
    }

    private static String emptyAsNull(String text) {
        return text == null || text.isEmpty() ? null : text;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
